#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/agent.h"
#include "api/step.h"

namespace twinyard::slurm {

/// What the step daemon knows of its host and of the user.
struct HostFacts {
    std::string node_name;  ///< In the cluster.
    std::string host_name;  ///< For HOSTNAME; empty: the node's.
    std::string user_name, group_name, home, shell;
    std::string slurm_conf;      ///< Path for SLURM_CONF.
    std::string command_folder;  ///< Put first on PATH.
    std::string tmp_dir = "/tmp";
    std::string address;  ///< Of the controller or launch node, for SLURM_LAUNCH_NODE_IPADDR.
    std::uint32_t cpus_on_node = 0;
};

/// NAME=value, each name once; order: what came in first, then what was added.
using Environment = std::vector<std::string>;

/// For the batch script: the submitter's environment without what only a running job has, then
/// the job's variables. `submitted` is the launch's environment blob, split. SLURM_SUBMIT_DIR is
/// what sbatch put into it, else the working directory.
[[nodiscard]] Environment batch_environment(const api::LaunchOrder& order,
                                            const HostFacts& host,
                                            std::span<const std::string> submitted);

/// Which task of a step.
struct TaskPlace {
    std::uint32_t rank = 0;      ///< In the step.
    std::uint32_t local_id = 0;  ///< On the node.
    std::int32_t pid = 0;        ///< 0: not known, SLURM_TASK_PID is left out.
};

/// For one task of a step: srun's environment (as far as --export lets it through), then the
/// job's and the step's variables.
[[nodiscard]] Environment task_environment(const api::LaunchOrder& order,
                                           const api::StepLaunch& step,
                                           const TaskPlace& place,
                                           const HostFacts& host);

/// The blob of an environment: NAME=value, each ended by NUL.
[[nodiscard]] std::string join_environment(std::span<const std::string> environment);
[[nodiscard]] Environment split_environment(std::string_view blob);

/// "2(x3),1"
[[nodiscard]] std::string compress_counts(std::span<const std::uint32_t> counts);
/// The other way; empty when malformed or over 65,536 entries.
[[nodiscard]] std::vector<std::uint32_t> expand_counts(std::string_view text);

/// "0-1,3": as SLURM_JOB_GPUS wants it without ranges ("0,1,3"), and with them for scontrol's IDX.
[[nodiscard]] std::string index_list(std::span<const std::uint16_t> indexes);
[[nodiscard]] std::string index_ranges(std::span<const std::uint16_t> indexes);

/// What `--export` lets through of `environment`: ALL (or absent), NONE, or NAME[=value] lists,
/// with ALL among them or not. SLURM_* and SPANK_* always pass. NONE passes nothing else.
[[nodiscard]] Environment apply_export(std::string_view export_option,
                                       std::span<const std::string> environment);

}  // namespace twinyard::slurm
