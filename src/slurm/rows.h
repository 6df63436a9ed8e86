#pragma once

#include <cstdint>
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
    bool with_detail = false;
    std::string user_name;  ///< For %u in output patterns; empty: the uid.
};

/// One listing row. Pure; any thread that has the snapshot.
[[nodiscard]] api::JobRow make_job_row(const model::Snapshot& snapshot,
                                       const model::Workload& workload,
                                       const JobFacts& facts);
[[nodiscard]] api::NodeRow make_node_row(const model::Snapshot& snapshot,
                                         const model::Node& node,
                                         bool planned);
/// A node of the configuration that no agent has ever brought: DOWN*, reason `no agent`.
[[nodiscard]] api::NodeRow make_node_row(const model::Snapshot& snapshot,
                                         const model::NodeDeclaration& declaration);
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

/// "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8,gres/gpu:h100=8": what is asked, and what was given.
[[nodiscard]] std::string requested_tres(const model::WorkloadSpec& spec);
[[nodiscard]] std::string allocated_tres(const model::Snapshot& snapshot,
                                         const model::Placement& placement);

/// Devices as Slurm's gres: "gpu:h100:8"; "(null)" if there are none.
[[nodiscard]] std::string gres_text(const std::vector<model::Device>& devices);

}  // namespace twinyard::slurm
