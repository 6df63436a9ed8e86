#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/process_container.h"

namespace twinyard::os {

/// One cgroup hierarchy that we may make groups in: a v1 mount (with the controllers joined there),
/// or v2.
struct CgroupHierarchy {
    int version = 1;
    std::string base;  ///< Our folder in it: "/sys/fs/cgroup/memory/twinyard_x".
    std::vector<std::string> controllers;  ///< v2: those that we could switch on below `base`.

    [[nodiscard]] bool has(std::string_view controller) const;
};

/// All that detection found. Empty `hierarchies`: no cgroup can be made, and `reason` says why.
struct CgroupTree {
    std::vector<CgroupHierarchy> hierarchies;
    std::string reason;

    [[nodiscard]] const CgroupHierarchy* with(std::string_view controller) const;
    /// Where processes are counted: v2 if there, else the freezer, else any. Not for an empty tree.
    [[nodiscard]] const CgroupHierarchy& tracking() const;
    /// "cgroup v1: cpuset,memory,freezer"
    [[nodiscard]] std::string describe() const;
};

/// Makes the folder `base` in every hierarchy where that is permitted.
[[nodiscard]] CgroupTree detect_cgroups(std::string_view base, const ContainerOptions& options);

// Small file work shared by detection and containers. Errors carry the path.

[[nodiscard]] Status write_cgroup_file(const std::string& path, std::string_view text);
/// The number after `key` and a space at the start of a line, as in memory.stat; 0 when there is
/// none.
[[nodiscard]] std::uint64_t cgroup_value(const std::string& path, std::string_view key);
/// The number that the file begins with; 0 when absent or "max".
[[nodiscard]] std::uint64_t cgroup_number(const std::string& path);
/// Folders directly inside `path`, sorted.
[[nodiscard]] std::vector<std::string> child_folders(const std::string& path);
/// Makes one group below its parent, with what v1 cpusets want filled in. Being there already is
/// fine.
[[nodiscard]] Status make_group(const CgroupHierarchy& hierarchy, const std::string& path);

}  // namespace twinyard::os
