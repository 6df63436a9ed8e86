#pragma once

#include <string>

namespace twinyard::client {

/// Where the cluster of this command is found, read from the environment without parsing any
/// configuration.
struct SocketSearch {
    /// Value of SLURM_CONF; empty: not set.
    std::string slurm_conf;
    std::string system_dir = "/run/twinyard";
};

/// The search with SLURM_CONF as this process has it.
[[nodiscard]] SocketSearch search_from_environment();

/// The first of these that exists: `dirname(SLURM_CONF)/run/controller.sock`, `…/run/agent.sock`,
/// then the same two names in the system folder. If none exists: the controller's beside SLURM_CONF
/// (or the system one), so that a client may wait for it.
[[nodiscard]] std::string find_controller_socket(const SocketSearch& search);

}  // namespace twinyard::client
