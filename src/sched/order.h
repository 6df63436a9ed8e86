#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/workload.h"
#include "sched/index.h"

namespace twinyard::sched {

/// What the size factor is measured against.
struct ClusterSize {
    std::int64_t nodes = 0;
    std::int64_t cpus = 0;
    friend bool operator==(const ClusterSize&, const ClusterSize&) = default;
};
[[nodiscard]] ClusterSize size_of(const Index& index);

/// The factors of one score, each already weighted. Their sum (at least 1) is the score.
struct Score {
    std::int64_t age = 0, job_size = 0, partition = 0, qos = 0, nice = 0;
    std::int64_t total = 0;
    friend bool operator==(const Score&, const Score&) = default;
};

/// The multifactor score in one partition, in Slurm's formula and integers: each weight times a
/// factor from 0 to 1, less nice. A fixed priority replaces all; 0 when held. Under FIFO: a high
/// number that falls with each submission.
[[nodiscard]] Score score_of(const model::Workload& workload,
                             const model::Partition& partition,
                             const model::ClusterConfig& config,
                             const model::PriorityPolicy& policy,
                             ClusterSize cluster,
                             ClusterTime now);

/// The priority to show: the score in its first partition.
[[nodiscard]] std::int64_t priority_of(const model::Workload& workload,
                                       const model::ClusterConfig& config,
                                       ClusterSize cluster,
                                       ClusterTime now);
/// The same, with the cluster's size from the configuration's nodes.
[[nodiscard]] std::int64_t priority_of(const model::Workload& workload,
                                       const model::ClusterConfig& config,
                                       ClusterTime now);

/// None of the partitions that a workload names exists (any more).
inline constexpr std::uint32_t kNoPartition = 0xffffffff;

/// A workload in one of its partitions: it stands in the order once for each.
struct Alternative {
    std::uint32_t band = 0;  ///< The partition's tier.
    std::int64_t score = 0;
    model::WorkloadId workload;
    std::uint32_t rank = 0;       ///< Place among the partitions it names.
    std::uint32_t partition = 0;  ///< Index in config().partitions, or kNoPartition.
    const PendingEntry* entry = nullptr;
};

/// True if `a` stands before `b`: higher band, higher score, earlier submission (lower id), earlier
/// named partition.
[[nodiscard]] bool stands_before(const Alternative& a, const Alternative& b);

/// All pending ones in order, once for each partition that exists; once if there is none.
[[nodiscard]] std::vector<Alternative> order_of(const Index& index,
                                                const model::PriorityPolicy& policy,
                                                ClusterTime now);

}  // namespace twinyard::sched
