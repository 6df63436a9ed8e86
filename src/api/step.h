#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/agent.h"

/// What srun says to the step daemon of the job's first node (the inner ledger), and what step
/// daemons of one gang say to each other. Streams: stdin flows in, output and ends flow out, each
/// part one StepEvent.
namespace twinyard::api {

/// First message of the stream that runs a step. Absent = as the job has it.
struct StepRequest {
    std::string secret;
    std::vector<std::string> argv;
    std::vector<std::string> environment;  ///< NAME=value.
    std::string work_dir, name;
    std::optional<std::uint32_t> nodes_min, nodes_max, ntasks, cpus_per_task, ntasks_per_node;
    std::optional<std::string> gres, gpus, gpus_per_task, nodelist, exclude;
    std::optional<std::int64_t> mem_per_node_mb, mem_per_cpu_mb;
    std::string std_in, std_out, std_err;  ///< Patterns; empty: to and from the caller.
    bool exact = false, overlap = false, label = false, unbuffered = false;
    bool kill_on_bad_exit = false;
    std::uint32_t umask = 022;
    std::vector<model::ProcessLimit> limits;
};

/// What one step daemon tells another: run these tasks.
struct StepLaunch {
    std::string secret;
    std::uint32_t step = 0;
    std::string name;
    std::uint32_t node_index = 0;  ///< Of this node within the step.
    std::uint32_t first_task = 0, tasks = 0, total_tasks = 0;
    std::vector<std::string> nodes;  ///< Of the step, in order.
    std::vector<std::uint32_t> tasks_per_node;
    std::vector<std::uint16_t> cpus, devices;  ///< Places in the node's grant, from 0.
    std::uint32_t cpus_per_task = 1;
    StepRequest request;
};

/// One part of a step's stream, both ways.
struct StepEvent {
    enum class Kind : std::uint8_t {
        Created,  ///< step, nodes, tasks
        Waiting,  ///< text: why it must wait
        Stdin,    ///< to the tasks; empty data: end of file
        Stdout,
        Stderr,
        TaskStarted,  ///< task, value: pid
        TaskEnded,    ///< task, node, value: wait status, data: wire::encode of its Usage
        Signal,       ///< to the tasks: value
        Refused,      ///< text: Slurm's words
        Finished,     ///< value: exit code of the step
        Message,      ///< text for srun's stderr; to a daemon: 1 holds output back, 0 lets go
    };
    Kind kind = Kind::Created;
    std::uint32_t step = 0;
    std::uint32_t task = 0;
    std::int32_t value = 0;
    std::string node;
    std::string data;  ///< Bytes or text.
    std::vector<std::string> nodes;
    std::vector<std::uint32_t> tasks_per_node;
};

}  // namespace twinyard::api
