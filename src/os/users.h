#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::os {

/// One account, as the system's name service tells it.
struct User {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name;
    std::string home;
    std::string shell;
};

/// Whom a process acts as. `groups` are the supplementary ones and hold `gid` too, if it is to
/// count.
struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;

    friend bool operator==(const Identity&, const Identity&) = default;
};

// Look-ups ask the name service (which may be a network) and are cached for kUserCacheSeconds,
// misses too. Any thread, but never a core's or the state thread. NotFound: no such account.
// Unavailable: the name service failed.

/// How long a name service's answer is believed.
inline constexpr int kUserCacheSeconds = 60;

[[nodiscard]] Result<User> user_by_uid(uid_t uid);
[[nodiscard]] Result<User> user_by_name(std::string_view name);
[[nodiscard]] Result<gid_t> gid_by_name(std::string_view name);
[[nodiscard]] Result<std::string> group_by_gid(gid_t gid);

/// The name, or the number as text where there is no account (as `ls` and Slurm show it). Never
/// fails.
[[nodiscard]] std::string user_name(uid_t uid);
[[nodiscard]] std::string group_name(gid_t gid);

/// The supplementary groups of an account that exists (getgrouplist with `primary`); an account
/// without a name has {primary} alone.
[[nodiscard]] Result<std::vector<gid_t>> groups_of(uid_t uid, gid_t primary);

/// uid, gid and groups of an account, for spawn(). A `gid` other than the account's own replaces
/// it.
[[nodiscard]] Result<Identity> identity_of(uid_t uid);
[[nodiscard]] Result<Identity> identity_of(uid_t uid, gid_t gid);

/// What this process is: effective uid and gid, groups.
[[nodiscard]] Identity own_identity();

/// HOME, USER, LOGNAME, SHELL, PATH, each as "NAME=value": what --export=NONE starts from.
[[nodiscard]] std::vector<std::string> login_environment(const User& user);

/// Forgets all cached answers; for tests and reconfigure.
void forget_users();

}  // namespace twinyard::os
