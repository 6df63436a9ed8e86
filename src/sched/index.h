#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_map.h"
#include "model/snapshot.h"
#include "sched/node_set.h"

namespace twinyard::sched {

/// Most devices of one node that are placed; more are not given out.
inline constexpr std::size_t kDevicesPerNodeMax = 64;

/// One node and what is free on it. Free amounts may be negative.
struct NodeRow {
    /// Owners: snapshots, and every index that knows the node.
    model::NodePtr node;
    model::NodeUse use;
    std::uint32_t node_class = 0;
    bool schedulable = false;
    std::int64_t free_cpu_milli = 0;
    std::int64_t free_memory = 0;
    std::uint64_t free_devices = 0;     ///< Bit set by device index: healthy and not held.
    std::uint64_t healthy_devices = 0;  ///< The same, held or not.
    friend bool operator==(const NodeRow& a, const NodeRow& b);
};

/// Nodes of equal capacity, labels and partitions: what could fit on one could fit on each.
struct NodeClass {
    NodeIndex example = 0;
    NodeSet nodes;
    /// Of each device index: its column.
    std::vector<std::uint16_t> device_columns;
    friend bool operator==(const NodeClass&, const NodeClass&) = default;
};

/// Pending workloads that ask for the same: what one cannot get now, none of them can.
struct Shape {
    std::string key;  ///< All that counts, in canonical bytes.
    /// One of them. Owners: its workload, and every index that knows the shape.
    std::shared_ptr<const model::WorkloadSpec> spec;
};
using ShapePtr = std::shared_ptr<const Shape>;

struct PendingEntry {
    model::WorkloadPtr workload;
    /// Owners: all entries of the shape.
    ShapePtr shape;
};

/// visit(grant) for each grant that the workload holds in the ledger: those of its placement whose
/// members have not ended, and fenced ones of earlier attempts.
template <class Visit>
void for_each_held(const model::Workload& workload, Visit&& visit) {
    const auto& runs = workload.status.runs;
    if (model::holds_resources(workload.status.state) && workload.placement != nullptr) {
        const auto& grants = workload.placement->grants;
        for (std::size_t i = 0; i < grants.size(); ++i) {
            const bool ended = i < runs.size() && runs[i].state == model::MemberState::Ended;
            if (!ended) visit(grants[i]);
        }
    }
    for (const model::FencedGrant& fenced : workload.status.fenced)
        visit(fenced.grant);
}

/// Everything the engine derives from a snapshot. Build it once, then follow the changes; equal
/// histories give equal values. A value: any one thread may use its own copy.
class Index {
  public:
    Index() = default;
    [[nodiscard]] static Index build(const model::Snapshot& snapshot);

    /// Follows a change set; `after` is the snapshot after it (read only when nodes come, go or
    /// change shape, or the configuration changes).
    void advance(const model::ChangeSet& changes, const model::Snapshot& after);

    /// What a change can mean for the next plan; asked before advance() follows it.
    enum class News : std::uint8_t {
        None,        ///< Nothing can start that could not before.
        NewPending,  ///< New in the queue: only this one may be able to start.
        Other,
    };
    [[nodiscard]] News news_of(const model::Change& change) const;

    [[nodiscard]] model::Revision revision() const { return revision_; }
    [[nodiscard]] const model::ClusterConfig& config() const { return *config_; }
    [[nodiscard]] const std::vector<NodeRow>& nodes() const { return rows_; }
    [[nodiscard]] const std::vector<NodeClass>& classes() const { return classes_; }
    /// Of config().partitions, in the same order: the nodes of each.
    [[nodiscard]] const std::vector<NodeSet>& partition_nodes() const { return partition_nodes_; }
    /// Leaf classes of all devices, sorted: "gpu/a100", "gpu/h100".
    [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
    [[nodiscard]] const IdMap<PendingEntry>& pending() const { return pending_; }
    /// Workloads that hold resources; one that waits again may still hold fenced grants.
    [[nodiscard]] const IdMap<model::WorkloadPtr>& holders() const { return holders_; }
    [[nodiscard]] std::size_t shape_count() const { return shapes_.size(); }
    /// kNoNode if it is not in the table.
    static constexpr NodeIndex kNoNode = 0xffffffff;
    [[nodiscard]] NodeIndex find_node(model::NodeId id) const;
    [[nodiscard]] NodeIndex find_node(std::string_view name) const;

    /// One workload as it is now (null: gone). What advance() does for each; the forecast replays
    /// with it.
    void put(model::WorkloadId id, const model::WorkloadPtr& now);

    friend bool operator==(const Index& a, const Index& b);

  private:
    struct ShapeUse {
        ShapePtr shape;
        std::uint32_t workloads = 0;
    };

    void add_nodes(const model::Snapshot& snapshot);
    void add_partitions();
    void add_classes();
    [[nodiscard]] bool replace_node(const model::NodePtr& now);
    void put_holder(model::WorkloadId id, const model::WorkloadPtr& now);
    void put_pending(model::WorkloadId id, const model::WorkloadPtr& now);
    void add_pending(const model::WorkloadPtr& workload);
    void drop_pending(model::WorkloadId id);
    void hold(const model::Workload& workload);
    void let_go(const model::Workload& workload);
    void refresh(NodeIndex at);

    model::Revision revision_ = 0;
    /// Owners: snapshots and indexes.
    model::ClusterConfigPtr config_ = std::make_shared<const model::ClusterConfig>();
    std::vector<NodeRow> rows_;          ///< By node id.
    std::vector<NodeIndex> node_by_id_;  ///< By NodeId.
    std::map<std::string, NodeIndex, std::less<>> node_by_name_;
    std::vector<NodeClass> classes_;
    std::vector<NodeSet> partition_nodes_;
    std::vector<std::string> columns_;
    IdMap<PendingEntry> pending_;
    IdMap<model::WorkloadPtr> holders_;
    std::map<std::string, ShapeUse, std::less<>> shapes_;
};

/// The canonical bytes of all that decides where and when such a workload can start: groups, time
/// limit, partitions, door, minimum; the user where nodes are shared by user.
[[nodiscard]] std::string shape_key(const model::WorkloadSpec& spec);

}  // namespace twinyard::sched
