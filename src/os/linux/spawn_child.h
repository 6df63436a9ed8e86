#pragma once

#include <string>
#include <vector>

#include "os/process_container.h"
#include "os/spawn.h"

namespace twinyard::os {

/// Everything the child needs, made ready before the fork: it only reads.
struct ChildPlan {
    const SpawnRequest* request = nullptr;
    ContainerEntry container;
    std::vector<std::string> programs;  ///< Paths to try in order.
    std::vector<char*> argv;            ///< Ends with null.
    std::vector<char*> environment;     ///< Ends with null.
    std::string uid_map;                ///< For a user namespace; empty when privileged.
    std::string gid_map;
    bool change_identity = false;
    int report_fd = -1;  ///< The parent reads a ChildReport from the other end, or end of file when
                         ///< exec worked.
    int spare_fd_first = 3;  ///< Descriptors from here on are nobody's target.
};

/// What went wrong in the child, as it travels through the pipe.
struct ChildReport {
    int stage = 0;
    int error_number = 0;
};

/// The child's whole life between fork and exec. Only async-signal-safe calls; no memory is
/// allocated.
[[noreturn]] void run_child(const ChildPlan& plan);

/// Enters the namespaces of `plan.request`; 0 or errno. Async-signal-safe.
int enter_namespaces(const NamespaceRequest& request,
                     const std::string& uid_map,
                     const std::string& gid_map);

/// The lines for uid_map and gid_map by which we keep our own ids in a user namespace; empty for
/// root.
struct IdMaps {
    std::string uid_map;
    std::string gid_map;
};
IdMaps own_id_maps();

}  // namespace twinyard::os
