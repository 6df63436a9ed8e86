#include "os/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>

#include "os/boot_clock.h"
#include "os/files.h"

namespace twinyard::os {

namespace {

constexpr std::size_t kEntryBytesMax = std::size_t{1} << 20;
constexpr std::size_t kCacheEntriesMax = 10000;

/// Answers of the name service by key, each believed for kUserCacheSeconds. An absent answer is
/// kept too.
template <class Key, class Value>
class Cache {
  public:
    template <class Ask>
    Result<std::optional<Value>> get(const Key& key, const Ask& ask) {
        const Millis now = boot_now();
        {
            const std::lock_guard lock(mutex_);
            const auto found = entries_.find(key);
            if (found != entries_.end() && found->second.until > now) return found->second.value;
        }
        // Asked without the lock: a slow directory server must not stop look-ups that are cached.
        TRY(std::optional<Value> value, ask());
        const std::lock_guard lock(mutex_);
        if (entries_.size() >= kCacheEntriesMax) entries_.clear();
        entries_[key] = {value, now + Seconds(kUserCacheSeconds)};
        return value;
    }

    void clear() {
        const std::lock_guard lock(mutex_);
        entries_.clear();
    }

  private:
    struct Entry {
        std::optional<Value> value;
        Millis until{0};
    };
    std::mutex mutex_;
    std::map<Key, Entry> entries_;
};

struct Caches {
    Cache<uid_t, User> users_by_uid;
    Cache<std::string, User> users_by_name;
    Cache<gid_t, std::string> groups_by_gid;
    Cache<std::string, gid_t> gids_by_name;
    Cache<std::pair<uid_t, gid_t>, std::vector<gid_t>> member_of;
};

Caches& caches() {
    static Caches all;
    return all;
}

/// Calls one of the *_r functions with a buffer that grows. `call(buffer, size, &found)` gives
/// errno.
template <class Entry, class Call, class Convert>
auto ask(const Call& call, const Convert& convert, std::string_view what)
    -> Result<std::optional<decltype(convert(std::declval<const Entry&>()))>> {
    using Value = decltype(convert(std::declval<const Entry&>()));
    std::vector<char> buffer(4096);
    while (true) {
        Entry entry{};
        Entry* found = nullptr;
        const int number = call(&entry, buffer.data(), buffer.size(), &found);
        if (number == ERANGE && buffer.size() < kEntryBytesMax) {
            buffer.resize(buffer.size() * 2);
            continue;
        }
        if (number == EINTR) continue;
        if (found != nullptr) return std::optional<Value>(convert(entry));
        // POSIX lets a service say "not there" by several errors.
        const bool absent = number == 0 || number == ENOENT || number == ESRCH || number == EPERM;
        if (absent) return std::optional<Value>();
        return fail(ErrorCode::Unavailable, system_error(number, what).message());
    }
}

User user_of(const passwd& entry) {
    return {entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, entry.pw_shell};
}
std::string group_name_of(const group& entry) {
    return entry.gr_name;
}
gid_t gid_of(const group& entry) {
    return entry.gr_gid;
}

template <class Value>
Result<Value> present(Result<std::optional<Value>> answer, const std::string& what) {
    if (!answer) return fail(std::move(answer).error());
    if (!*answer) return fail(ErrorCode::NotFound, "no such " + what);
    return **std::move(answer);
}

Result<std::optional<std::vector<gid_t>>> ask_groups(const User& user, gid_t primary) {
    constexpr int kGroupsMax = 65536;
    int count = 64;
    while (true) {
        std::vector<gid_t> groups(static_cast<std::size_t>(count));
        int got = count;
        if (::getgrouplist(user.name.c_str(), primary, groups.data(), &got) >= 0) {
            groups.resize(static_cast<std::size_t>(got));
            return std::optional(std::move(groups));
        }
        if (count >= kGroupsMax) {
            return fail(ErrorCode::Unavailable, "groups of " + user.name + ": too many");
        }
        count = std::min(kGroupsMax, std::max(got, count * 2));
    }
}

}  // namespace

Result<User> user_by_uid(uid_t uid) {
    const std::string what = "user id " + std::to_string(uid);
    const auto call = [&](passwd* entry, char* buffer, std::size_t size, passwd** found) {
        return ::getpwuid_r(uid, entry, buffer, size, found);
    };
    return present(caches().users_by_uid.get(uid, [&] { return ask<passwd>(call, user_of, what); }),
                   what);
}

Result<User> user_by_name(std::string_view name) {
    const std::string key(name);
    const auto call = [&](passwd* entry, char* buffer, std::size_t size, passwd** found) {
        return ::getpwnam_r(key.c_str(), entry, buffer, size, found);
    };
    return present(caches().users_by_name.get(key, [&] { return ask<passwd>(call, user_of, key); }),
                   "user " + key);
}

Result<gid_t> gid_by_name(std::string_view name) {
    const std::string key(name);
    const auto call = [&](group* entry, char* buffer, std::size_t size, group** found) {
        return ::getgrnam_r(key.c_str(), entry, buffer, size, found);
    };
    return present(caches().gids_by_name.get(key, [&] { return ask<group>(call, gid_of, key); }),
                   "group " + key);
}

Result<std::string> group_by_gid(gid_t gid) {
    const std::string what = "group id " + std::to_string(gid);
    const auto call = [&](group* entry, char* buffer, std::size_t size, group** found) {
        return ::getgrgid_r(gid, entry, buffer, size, found);
    };
    return present(
        caches().groups_by_gid.get(gid, [&] { return ask<group>(call, group_name_of, what); }),
        what);
}

std::string user_name(uid_t uid) {
    const Result<User> user = user_by_uid(uid);
    return user ? user->name : std::to_string(uid);
}

std::string group_name(gid_t gid) {
    const Result<std::string> name = group_by_gid(gid);
    return name ? *name : std::to_string(gid);
}

Result<std::vector<gid_t>> groups_of(uid_t uid, gid_t primary) {
    const Result<User> user = user_by_uid(uid);
    if (!user && user.error().code() == ErrorCode::NotFound) return std::vector<gid_t>{primary};
    if (!user) return fail(user.error());
    return present(
        caches().member_of.get({uid, primary}, [&] { return ask_groups(*user, primary); }),
        "user " + user->name);
}

Result<Identity> identity_of(uid_t uid) {
    TRY(const User user, user_by_uid(uid));
    return identity_of(uid, user.gid);
}

Result<Identity> identity_of(uid_t uid, gid_t gid) {
    TRY(std::vector<gid_t> groups, groups_of(uid, gid));
    return Identity{uid, gid, std::move(groups)};
}

Identity own_identity() {
    Identity own{::geteuid(), ::getegid(), {}};
    const int count = ::getgroups(0, nullptr);
    if (count <= 0) return own;
    own.groups.resize(static_cast<std::size_t>(count));
    const int got = ::getgroups(count, own.groups.data());
    own.groups.resize(static_cast<std::size_t>(std::max(got, 0)));
    return own;
}

std::vector<std::string> login_environment(const User& user) {
    const std::string shell = user.shell.empty() ? "/bin/sh" : user.shell;
    const std::string home = user.home.empty() ? "/" : user.home;
    const std::string path = user.uid == 0
                                 ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                                 : "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";
    return {"HOME=" + home,
            "USER=" + user.name,
            "LOGNAME=" + user.name,
            "SHELL=" + shell,
            "PATH=" + path};
}

void forget_users() {
    Caches& all = caches();
    all.users_by_uid.clear();
    all.users_by_name.clear();
    all.groups_by_gid.clear();
    all.gids_by_name.clear();
    all.member_of.clear();
}

}  // namespace twinyard::os
