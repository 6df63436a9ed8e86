#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/accounting.h"
#include "api/command.h"
#include "model/launch.h"
#include "model/task_group.h"

/// What the Slurm commands and the controller's Slurm door say to each other. Requests carry what
/// the user wrote, parsed but not interpreted; the door interprets them against the configuration.
/// Rows carry facts; the commands print them.
namespace twinyard::api {

/// Options of sbatch, salloc and srun that make a job. Absent = not given.
struct JobRequest {
    RequestId request_id{};
    std::string name;
    std::optional<std::string> account, qos, partition, comment, constraint, prefer;
    std::optional<std::uint32_t> nodes_min, nodes_max, ntasks, cpus_per_task, ntasks_per_node,
        ntasks_per_socket, ntasks_per_core, ntasks_per_gpu, mincpus, threads_per_core;
    std::optional<std::int64_t> time_limit_s, time_min_s;  ///< -1: UNLIMITED.
    std::optional<std::int64_t> mem_per_node_mb, mem_per_cpu_mb,
        mem_per_gpu_mb;  ///< 0: all of the node.
    std::optional<std::string> gres, gpus, gpus_per_node, gpus_per_socket,
        gpus_per_task;  ///< As written: "gpu:h100:8".
    std::optional<std::uint32_t> cpus_per_gpu;
    std::optional<std::string> nodelist, exclude;  ///< As written.
    std::optional<std::string> exclusive;          ///< "", "user", …
    bool oversubscribe = false, overcommit = false, contiguous = false, use_min_nodes = false,
         spread_job = false;
    std::optional<std::uint32_t> switches;
    std::optional<std::int64_t> switches_wait_s;
    bool hold = false;
    std::optional<std::int64_t> begin_unix_s, deadline_unix_s;
    std::optional<std::int32_t> nice;
    std::optional<std::uint32_t> priority;
    std::optional<bool> requeue;
    std::optional<model::EndWarning> signal;
    std::optional<bool> append_output;
    bool reboot = false;
    std::uint32_t uid = 0,
                  gid = 0;  ///< Of whom it runs as; others than the caller need an administrator.
    std::string script;     ///< Empty for an interactive allocation.
    std::vector<std::string> script_args;
    std::string command;  ///< Path of the script as named, or empty.
    std::string work_dir, std_in, std_out, std_err;
    std::vector<std::string> environment;   ///< NAME=value, after --export.
    std::optional<std::string> export_env;  ///< As written, for SLURM_EXPORT_ENV.
    std::uint32_t umask = 022;
    std::vector<model::ProcessLimit> limits;
    std::string submit_host, submit_line;
    bool test_only = false;
};

/// Answer to a JobRequest. With test_only: when and where it would start.
struct JobSubmitted {
    std::uint32_t job = 0;
    std::string message;  ///< Warnings for stderr.
    std::optional<std::int64_t> expected_start_unix_ms;
    std::string expected_nodes, partition;
    std::uint32_t expected_cpus = 0;
};

/// An error as Slurm's clients word it: the door picks the text from Slurm's table, the command
/// puts its name before it. Travels as rpc error with this text; ErrorCode says whether to retry.

// ---- queries
// -----------------------------------------------------------------------------------------------------

/// Which jobs; empty lists do not restrict. States by Slurm's long name (PENDING …); empty: all
/// that are not finished.
struct JobQuery {
    std::vector<std::uint32_t> jobs;
    std::vector<std::uint32_t> uids;
    std::vector<std::string> partitions, names, accounts, qos, nodes;
    std::vector<std::string> states;
    bool all_states = false;
    bool with_detail = false;    ///< Grants node by node, environment facts.
    bool with_forecast = false;  ///< Expected starts.
};

/// One job as listings and `scontrol show job` need it. Times in Unix milliseconds, 0: unknown.
struct JobRow {
    std::uint32_t job = 0;
    std::uint64_t workload = 0;
    std::string name, account, qos, partition;
    std::uint32_t uid = 0, gid = 0;
    std::string state;        ///< Slurm's long word: PENDING, RUNNING, COMPLETING …
    std::string base_state;   ///< Without flags: what it is or will be.
    std::string reason;       ///< Slurm's word: Priority, Resources …
    std::string explanation;  ///< Our sentence with the numbers.
    std::uint32_t priority = 0;
    std::int32_t nice = 0;
    std::int64_t submit_ms = 0, eligible_ms = 0, start_ms = 0, end_ms = 0, expected_start_ms = 0,
                 deadline_ms = 0;
    std::string expected_nodes;
    std::int64_t run_time_ms = 0;
    std::int64_t time_limit_s = -1;  ///< -1: UNLIMITED.
    std::optional<std::int64_t> time_min_s;
    std::uint32_t nodes_min = 1, nodes_max = 0,
                  nodes = 0;  ///< nodes: allocated, or the least it needs.
    std::uint32_t cpus = 0, tasks = 0, cpus_per_task = 0, ntasks_per_node = 0;
    std::int64_t mem_per_node_mb = -1, mem_per_cpu_mb = -1;
    std::string node_list, batch_host;  ///< Folded.
    std::string required_nodes, excluded_nodes, features;
    std::string req_tres, alloc_tres, tres_per_node, tres_per_job, tres_per_task, gres_used;
    std::int32_t exit_code = 0, exit_signal = 0;
    std::uint32_t restarts = 0;
    bool requeue = true, batch = true, exclusive = false, emulated = false, held = false;
    std::string oversubscribe;  ///< OK, NO, USER, …
    std::string command, work_dir, std_in, std_out, std_err, comment, submit_line, submit_host,
        dependency, licenses;
    struct Grant {
        std::string node;
        std::vector<std::uint16_t> cpus, devices;
        std::int64_t memory_mb = 0;
        std::string gres;  ///< "gpu:h100:2(IDX:0-1)"
        friend bool operator==(const Grant&, const Grant&) = default;
    };
    std::vector<Grant> grants;  ///< With detail.
    friend bool operator==(const JobRow&, const JobRow&) = default;
};

struct NodeQuery {
    std::vector<std::string> nodes;
};
struct NodeRow {
    std::string name, address, host_name, os, arch, version;
    std::string state;       ///< As scontrol prints: IDLE, MIXED+DRAIN, DOWN*+DRAIN …
    std::string base_state;  ///< IDLE, MIXED, ALLOCATED, DOWN, UNKNOWN
    bool drain = false, down = false, no_respond = false, completing = false, planned = false,
         emulated = false, no_agent = false, reserved = false;
    std::uint32_t boards = 1, sockets = 1, cores_per_socket = 1, threads_per_core = 1, cpus = 0,
                  cpus_alloc = 0;
    std::int64_t memory_mb = 0, memory_alloc_mb = 0, memory_free_mb = -1, tmp_disk_mb = 0;
    std::uint32_t weight = 1;
    double load = -1;
    std::string features, gres, gres_used, partitions, reason, tracking, notes;
    std::uint32_t reason_uid = 0;
    std::int64_t reason_ms = 0, boot_ms = 0, agent_start_ms = 0, last_busy_ms = 0;
    std::string cfg_tres, alloc_tres;
    friend bool operator==(const NodeRow&, const NodeRow&) = default;
};

struct PartitionQuery {
    std::vector<std::string> partitions;
};
struct PartitionRow {
    std::string name, nodes, state, qos;  ///< nodes: folded; state UP, DOWN, DRAIN, INACTIVE.
    std::vector<std::string> node_names;  ///< In order of the configuration.
    bool is_default = false, hidden = false, root_only = false, exclusive = false;
    std::int64_t time_max_s = -1, time_default_s = -2;  ///< -1 UNLIMITED, -2 NONE.
    std::uint32_t nodes_min = 0, total_nodes = 0, total_cpus = 0, tier = 1, job_factor = 1;
    std::int64_t nodes_max = -1, cpus_per_node_max = -1;
    std::int64_t def_mem_per_node_mb = -1, def_mem_per_cpu_mb = -1, max_mem_per_node_mb = -1,
                 max_mem_per_cpu_mb = -1;
    std::string allow_groups, allow_accounts, allow_qos, deny_accounts, deny_qos, tres,
        oversubscribe;
    friend bool operator==(const PartitionRow&, const PartitionRow&) = default;
};

/// scancel and scontrol name jobs by filters or ids; the door resolves them.
struct JobTargets {
    std::vector<std::uint32_t> jobs;
    std::vector<std::string> names, partitions, accounts, qos, states, nodes;
    std::vector<std::uint32_t> uids;
};
struct CancelRequest {
    JobTargets targets;
    std::optional<std::int32_t> signal;  ///< None: end it.
    SignalScope scope = SignalScope::Steps;
    std::optional<std::uint32_t> step;
};
/// One line a job that could not be done.
struct TargetsAnswer {
    struct Entry {
        std::uint32_t job = 0;
        std::string error;  ///< Slurm's text; empty: done.
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;
};
enum class JobAction : std::uint8_t {
    Hold,
    UserHold,
    Release,
    Requeue,
    RequeueHold,
    Suspend,
    Resume
};
struct JobActionRequest {
    JobAction action = JobAction::Hold;
    std::vector<std::uint32_t> jobs;
};
/// `scontrol update`: what the user wrote, key by key; the door interprets it.
struct UpdateRequest {
    enum class Kind : std::uint8_t { Job, Node, Partition };
    Kind kind = Kind::Job;
    std::vector<std::pair<std::string, std::string>>
        settings;  ///< "TimeLimit" → "1:00:00"; the id is one of them.
};

struct ControllerInfo {
    std::string version, cluster, host;
    std::int32_t pid = 0;
    std::int64_t boot_ms = 0;
    std::vector<std::pair<std::string, std::string>> config;  ///< Rows of `scontrol show config`.
    std::uint64_t pending = 0, running = 0, passes = 0, last_pass_us = 0;
};

}  // namespace twinyard::api
