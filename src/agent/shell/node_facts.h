#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/shell/options.h"
#include "api/agent.h"
#include "base/result.h"
#include "os/inventory.h"
#include "os/namespaces.h"

namespace twinyard::agent {

/// This host as a node, and how its jobs' processes see it.
struct HostNode {
    api::NodeHello hello;
    bool node_hostname = false;  ///< See api::StepdFlags.
    bool cpuset_alone = false;
};

/// What the host has, or what is declared instead; `tracking` describes the containers. Pure but
/// for the clocks. InvalidArgument: malformed --gpus.
[[nodiscard]] Result<HostNode> describe_host(const AgentOptions& options,
                                             const os::HostInventory& inventory,
                                             const os::NamespaceProbe& namespaces,
                                             const std::string& tracking);

/// Emulated nodes, one a line: name cpus memory_bytes gpus [sockets cores_per_socket
/// threads_per_core [tmp_disk_bytes]]; gpus "h100:8", "-" for none. InvalidArgument names the line.
[[nodiscard]] Result<std::vector<api::NodeHello>> parse_emulated_nodes(std::string_view text,
                                                                       const std::string& host);

}  // namespace twinyard::agent
