#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace twinyard::step {

/// What a node still has for a step: places in the job's grant there, ascending.
struct NodeRoom {
    std::string name;
    std::uint32_t cpus_granted = 0;  ///< All of the job's, free or not.
    std::vector<std::uint16_t> cpus, devices;
};

/// How many of the job's devices a step takes.
struct DeviceNeed {
    enum class Kind : std::uint8_t { AllOfJob, PerNode, Total, PerTask };
    Kind kind = Kind::AllOfJob;
    std::uint32_t count = 0;
};

/// A step's request in numbers.
struct StepNeed {
    std::optional<std::uint32_t> nodes_min, nodes_max, ntasks, ntasks_per_node;
    std::optional<std::uint32_t> job_ntasks;  ///< What the job said; counts without -n and -N.
    std::uint32_t cpus_per_task = 1;
    std::vector<std::string> only, without;  ///< Names of nodes.
    DeviceNeed devices;
    bool exact = false;    ///< Takes what its tasks need; else all of the job's cpus on its nodes.
    bool overlap = false;  ///< Shares with other steps.
};

/// What a step gets on one node.
struct StepPlace {
    std::uint32_t node = 0;  ///< Place in the gang.
    std::uint32_t first_task = 0, tasks = 0;
    std::vector<std::uint16_t> cpus, devices;
};

/// Why a step cannot be, in Slurm's words.
struct StepRefusal {
    std::string text;
};

/// Lays a step out on `rooms` (the gang's nodes in order): block, cyclic when there are no more
/// tasks than nodes. `job_tasks` is how the job's own tasks lie on its nodes: a step that takes
/// just these gets them so. Pure.
[[nodiscard]] std::expected<std::vector<StepPlace>, StepRefusal> lay_out(
    const StepNeed& need,
    const std::vector<NodeRoom>& rooms,
    const std::vector<std::uint32_t>& job_tasks);

}  // namespace twinyard::step
