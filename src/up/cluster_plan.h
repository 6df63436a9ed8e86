#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "up/up_options.h"

namespace twinyard::up {

/// One daemon of the cluster.
struct Process {
    std::string name;  ///< "controller", "agent-n1", "emulator"; names its pid file and log.
    std::string node;  ///< Agents: the nodes it carries, folded.
    bool emulated = false;
    std::vector<std::string> argv;
};

/// What `up` starts, in order.
struct ClusterPlan {
    std::string dir;
    std::vector<Process> processes;
    std::vector<std::string> nodes;  ///< That must have registered before the cluster counts as up.
    std::string emulated_nodes;      ///< Text of the emulator's node file; empty: none.
};

/// The folders of a cluster's folder, and where our programs lie.
[[nodiscard]] std::string pid_file(const std::string& dir, const std::string& name);
[[nodiscard]] std::string log_file(const std::string& dir, const std::string& name);
[[nodiscard]] std::string socket_file(const std::string& dir);
[[nodiscard]] std::string program_folder();  ///< Of this very program (libexec).
[[nodiscard]] std::string command_folder();  ///< Beside it (bin).

/// Works out the processes. Errors: the configuration cannot be used, or it names fewer nodes than
/// asked.
[[nodiscard]] Result<ClusterPlan> make_plan(const UpOptions& options);

/// Makes the folders, env.sh and the emulator's file.
[[nodiscard]] Status prepare_folder(const UpOptions& options, const ClusterPlan& plan);

}  // namespace twinyard::up
