#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "base/id_map.h"
#include "model/cluster_config.h"
#include "model/node.h"
#include "model/workload.h"

namespace twinyard::model {

/// All that may be read of the cluster at one revision. A copy costs a few pointers; any thread may
/// read its own copy.
struct Snapshot {
    Revision revision = 0;
    ClusterTime time{};
    WallTime wall{};
    ClusterConfigPtr config;
    IdMap<WorkloadPtr> workloads;  ///< By WorkloadId.
    IdMap<WorkloadId> jobs;        ///< By JobId: those that still answer.
    IdMap<NodePtr> nodes;          ///< By NodeId.
    IdMap<NodeUse> uses;           ///< By NodeId: what placements hold. Absent: nothing.
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// One object's new content; null: it is gone.
struct WorkloadChange {
    WorkloadId id;
    WorkloadPtr now;
};
struct NodeChange {
    NodeId id;
    NodePtr now;
};
struct ConfigChange {
    ClusterConfigPtr now;
};
using Change = std::variant<WorkloadChange, NodeChange, ConfigChange>;

/// What happened between two revisions, in order.
struct ChangeSet {
    Revision revision = 0;  ///< After it.
    std::vector<Change> changes;
};

[[nodiscard]] inline const Workload* find(const Snapshot& snapshot, WorkloadId id) {
    const WorkloadPtr* found = snapshot.workloads.find(id.value());
    return found == nullptr ? nullptr : found->get();
}
[[nodiscard]] inline const Node* find(const Snapshot& snapshot, NodeId id) {
    const NodePtr* found = snapshot.nodes.find(id.value());
    return found == nullptr ? nullptr : found->get();
}

}  // namespace twinyard::model
