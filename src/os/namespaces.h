#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace twinyard::os {

/// One thing to show at another place inside a private mount namespace. Both must exist, both files
/// or both folders.
struct BindMount {
    std::string source;
    std::string target;
    bool read_only = false;
};

/// How a job sees a host that plays several nodes: its own host name, its own /etc/hosts, own
/// mounts. Used by spawn().
struct NamespaceRequest {
    std::string hostname;  ///< The node's name; empty leaves the host's.
    std::string
        hosts_file;  ///< Shown as /etc/hosts (see hosts_file_text); empty leaves the host's.
    std::vector<BindMount> mounts;

    [[nodiscard]] bool empty() const {
        return hostname.empty() && hosts_file.empty() && mounts.empty();
    }
};

enum class NamespaceMode : std::uint8_t {
    Privileged,     ///< As root, before becoming the user.
    UserNamespace,  ///< As an ordinary user, in a user namespace where only the own uid exists.
    Impossible,
};

struct NamespaceProbe {
    NamespaceMode mode = NamespaceMode::Impossible;
    std::string reason;  ///< Why it is impossible, for `scontrol show node`.
};

/// Tries it in a child that ends at once. Milliseconds; any thread.
[[nodiscard]] NamespaceProbe probe_namespaces();

/// The text of a hosts file: `system` (the host's own) with `names` at `address` in front, names
/// that are not valid host names left out. Pure.
[[nodiscard]] std::string hosts_file_text(std::string_view system,
                                          const std::vector<std::string>& names,
                                          std::string_view address = "127.0.0.1");

/// Writes that file from the host's /etc/hosts, readable by all.
[[nodiscard]] Status write_hosts_file(const std::string& path,
                                      const std::vector<std::string>& names);

}  // namespace twinyard::os
