#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/agent.h"
#include "model/workload.h"

namespace twinyard::api {

/// One row of history: a job's submission, start or end, or a step. Idempotent by (workload,
/// attempt, seq): the later record of a job attempt replaces the earlier one.
struct AccountingRecord {
    std::uint64_t outbox_seq = 0;
    model::WorkloadId workload;
    model::JobId job;
    model::Attempt attempt = 0;
    std::int32_t step = -1;  ///< -1: the job itself. kBatchStep: the batch script.
    std::string name, queue, qos, partition, cluster;
    std::uint32_t uid = 0, gid = 0;
    model::WorkloadState state = model::WorkloadState::Pending;
    model::Outcome outcome;
    bool requeued = false;  ///< This attempt ended and the job went back to the queue.
    WallTime submitted{}, eligible{}, started{}, ended{};  ///< Zero: not yet.
    Millis suspended{0};
    std::optional<Millis> time_limit;
    std::uint32_t nodes = 0, tasks = 0, restarts = 0;
    std::int64_t cpus = 0, memory_bytes = 0;
    std::string node_list;             ///< Folded.
    std::string req_tres, alloc_tres;  ///< "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8"
    std::string work_dir, submit_line, comment;
    std::uint32_t priority = 0;
    Usage usage;
    friend bool operator==(const AccountingRecord&, const AccountingRecord&) = default;
};

inline constexpr std::int32_t kBatchStep = -5;   ///< Shown as `.batch`.
inline constexpr std::int32_t kExternStep = -4;  ///< Shown as `.extern`.

/// Which rows of history are wanted; empty lists do not restrict.
struct AccountingQuery {
    std::vector<model::JobId> jobs;
    std::vector<std::uint32_t> uids;
    std::vector<std::string> names, partitions, queues;
    std::optional<WallTime> from, to;  ///< Overlap with the job's life.
    bool with_steps = true;
    bool all_attempts = false;  ///< Else the last attempt of each job (`sacct -D` wants all).
};

}  // namespace twinyard::api
