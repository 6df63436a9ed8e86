#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/boot_clock.h"
#include "os/linux/cgroup_tree.h"
#include "os/process_container.h"

namespace twinyard::os {

/// The group inside each v2 group that holds its processes: v2 wants processes in leaves only.
inline constexpr std::string_view kLeafGroup = "_procs";

/// Containers as cgroups of `tree`, which must have a hierarchy.
[[nodiscard]] std::unique_ptr<ContainerFactory> make_cgroup_factory(CgroupTree tree);

/// Containers without cgroups: by parentage, sessions and the environment marker. `reason`: why,
/// for describe().
[[nodiscard]] std::unique_ptr<ContainerFactory> make_tracker_factory(std::string base,
                                                                     const std::string& reason);

/// InvalidArgument unless `name` is segments of [A-Za-z0-9_.-] joined by '/', none of them "." or
/// "..", `_procs` or empty.
[[nodiscard]] Status check_container_name(std::string_view name);

/// Calls `done` with growing pauses until it gives true or `patience` is over; gives its last
/// answer.
template <class Done>
bool retry_until(Millis patience, const Done& done) {
    constexpr Millis kPauseMax{20};
    const Millis end = boot_now() + patience;
    for (Millis pause{1}; !done(); pause = std::min(pause * 2, kPauseMax)) {
        if (boot_now() >= end) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

/// "1, 2, 3 and 4 more"
[[nodiscard]] std::string list_pids(const std::vector<ProcessId>& pids);

}  // namespace twinyard::os
