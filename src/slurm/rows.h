#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/slurm.h"
#include "model/plan.h"
#include "model/snapshot.h"

namespace twinyard::slurm {

/// What a row needs beside the snapshot; derived by the engine, may be missing.
struct JobFacts {
    const model::Verdict* verdict = nullptr;
    std::optional<ClusterTime> expected_start;
    std::vector<model::NodeId> expected_nodes;
    std::uint32_t priority = 0;
    std::optional<ClusterTime> now;  ///< For run times; absent: when the snapshot was made.
    bool with_detail = false;
    std::string user_name;  ///< For %u in output patterns; empty: the uid.
};

/// One listing row. Pure; any thread that has the snapshot.
[[nodiscard]] api::JobRow make_job_row(const model::Snapshot& snapshot,
                                       const model::Workload& workload,
                                       const JobFacts& facts);
/// Which partitions a node is in, comma lists by node name; made once for many node rows.
using PartitionNames = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] PartitionNames partition_names(const model::Snapshot& snapshot);

[[nodiscard]] api::NodeRow make_node_row(const model::Snapshot& snapshot,
                                         const PartitionNames& partitions,
                                         const model::Node& node,
                                         bool planned);
[[nodiscard]] api::PartitionRow make_partition_row(const model::Snapshot& snapshot,
                                                   const model::Partition& partition);

/// Names of the partition's nodes, in order.
[[nodiscard]] std::vector<std::string> partition_nodes(const model::Snapshot& snapshot,
                                                       const model::Partition& partition);

/// Does a query ask for this workload? Jobs of the other door are no Slurm jobs and never match.
[[nodiscard]] bool matches(const api::JobQuery& query,
                           const model::Snapshot& snapshot,
                           const model::Workload& workload);
/// The same for the filters of scancel and scontrol; no filter at all matches nothing, and
/// finished jobs match only by id.
[[nodiscard]] bool matches(const api::JobTargets& targets,
                           const model::Snapshot& snapshot,
                           const model::Workload& workload);

}  // namespace twinyard::slurm
