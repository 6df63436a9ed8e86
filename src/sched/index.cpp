#include "sched/index.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "model/ledger.h"
#include "sched/canonical.h"

namespace twinyard::sched {
namespace {

bool holds_placement(const model::Workload& workload) {
    return model::holds_resources(workload.status.state) && workload.placement != nullptr;
}

bool holds(const model::Workload& workload) {
    return holds_placement(workload) || !workload.status.fenced.empty();
}

/// Cheap to see: the same records, of which the same runs have ended.
bool hold_the_same(const model::Workload& a, const model::Workload& b) {
    if (!holds_placement(a) || !holds_placement(b)) return false;
    const auto ended = [](const model::MemberRun& run) {
        return run.state == model::MemberState::Ended;
    };
    return a.placement == b.placement && a.spec == b.spec && a.status.fenced == b.status.fenced &&
           std::ranges::equal(a.status.runs, b.status.runs, {}, ended, ended);
}

std::string leaf_class(const model::Device& device) {
    return device.class_path;
}

bool same_workload(const model::WorkloadPtr& a, const model::WorkloadPtr& b) {
    if (a == b) return true;
    const bool same_placement =
        a->placement == b->placement ||
        (a->placement != nullptr && b->placement != nullptr && *a->placement == *b->placement);
    return a->id == b->id && a->job == b->job && a->revision == b->revision && same_placement &&
           a->status == b->status && (a->spec == b->spec || *a->spec == *b->spec);
}

}  // namespace

bool operator==(const NodeRow& a, const NodeRow& b) {
    return (a.node == b.node || *a.node == *b.node) && a.use == b.use &&
           a.node_class == b.node_class && a.schedulable == b.schedulable &&
           a.free_cpu_milli == b.free_cpu_milli && a.free_memory == b.free_memory &&
           a.free_devices == b.free_devices && a.healthy_devices == b.healthy_devices;
}

bool operator==(const Index& a, const Index& b) {
    const bool same_tables = a.revision_ == b.revision_ && *a.config_ == *b.config_ &&
                             a.rows_ == b.rows_ && a.node_by_id_ == b.node_by_id_ &&
                             a.node_by_name_ == b.node_by_name_ && a.classes_ == b.classes_ &&
                             a.partition_nodes_ == b.partition_nodes_ && a.columns_ == b.columns_;
    if (!same_tables || a.pending_.size() != b.pending_.size() ||
        a.holders_.size() != b.holders_.size())
        return false;
    const bool same_shapes = std::ranges::equal(a.shapes_, b.shapes_, [](auto& x, auto& y) {
        return x.first == y.first && x.second.workloads == y.second.workloads;
    });
    bool same = same_shapes;
    a.pending_.for_each([&](std::uint64_t id, const PendingEntry& entry) {
        const PendingEntry* other = b.pending_.find(id);
        same = same && other != nullptr && entry.shape->key == other->shape->key &&
               same_workload(entry.workload, other->workload);
        return same;
    });
    a.holders_.for_each([&](std::uint64_t id, const model::WorkloadPtr& holder) {
        const model::WorkloadPtr* other = b.holders_.find(id);
        same = same && other != nullptr && same_workload(holder, *other);
        return same;
    });
    return same;
}

Index Index::build(const model::Snapshot& snapshot) {
    Index index;
    index.revision_ = snapshot.revision;
    if (snapshot.config != nullptr) index.config_ = snapshot.config;
    index.add_nodes(snapshot);
    index.add_partitions();
    index.add_classes();
    snapshot.workloads.for_each([&](std::uint64_t id, const model::WorkloadPtr& workload) {
        index.put(model::WorkloadId{id}, workload);
    });
    return index;
}

void Index::advance(const model::ChangeSet& changes, const model::Snapshot& after) {
    for (const model::Change& change : changes.changes) {
        if (const auto* workload = std::get_if<model::WorkloadChange>(&change)) {
            put(workload->id, workload->now);
            continue;
        }
        if (const auto* node = std::get_if<model::NodeChange>(&change)) {
            if (node->now != nullptr && node->now->id == node->id && replace_node(node->now))
                continue;
        }
        // Rare: the tables themselves change. Numbering must be that of a fresh build.
        *this = build(after);
        return;
    }
    revision_ = changes.revision;
}

Index::News Index::news_of(const model::Change& change) const {
    const auto* changed = std::get_if<model::WorkloadChange>(&change);
    if (changed == nullptr) return News::Other;
    const std::uint64_t id = changed->id.value();
    const model::WorkloadPtr& now = changed->now;
    const bool is_pending = now != nullptr && now->status.state == model::WorkloadState::Pending;
    if (const model::WorkloadPtr* held = holders_.find(id))
        return now != nullptr && hold_the_same(**held, *now) ? News::None : News::Other;
    if (pending_.find(id) != nullptr) {
        // It started: what it took was free for others only as long as it waited.
        return now != nullptr && holds_placement(*now) ? News::None : News::Other;
    }
    if (!is_pending) return now != nullptr && holds(*now) ? News::Other : News::None;
    return now->status.hold == model::Hold::None ? News::NewPending : News::None;
}

NodeIndex Index::find_node(model::NodeId id) const {
    return id.value() < node_by_id_.size() ? node_by_id_[id.value()] : kNoNode;
}

NodeIndex Index::find_node(std::string_view name) const {
    const auto found = node_by_name_.find(name);
    return found == node_by_name_.end() ? kNoNode : found->second;
}

void Index::add_nodes(const model::Snapshot& snapshot) {
    snapshot.nodes.for_each([&](std::uint64_t id, const model::NodePtr& node) {
        const auto at = static_cast<NodeIndex>(rows_.size());
        NodeRow row;
        row.node = node;
        rows_.push_back(std::move(row));
        if (node_by_id_.size() <= id) node_by_id_.resize(id + 1, kNoNode);
        node_by_id_[id] = at;
        node_by_name_.emplace(node->name, at);
        for (const model::Device& device : node->capacity.devices)
            columns_.push_back(leaf_class(device));
    });
    std::ranges::sort(columns_);
    const auto repeated = std::ranges::unique(columns_);
    columns_.erase(repeated.begin(), repeated.end());
}

void Index::add_partitions() {
    for (const model::Partition& partition : config_->partitions) {
        NodeSet nodes(rows_.size());
        if (partition.all_nodes) {
            for (NodeIndex at = 0; at < rows_.size(); ++at)
                nodes.add(at);
        }
        for (const std::string& name : partition.nodes) {
            if (const NodeIndex at = find_node(name); at != kNoNode) nodes.add(at);
        }
        partition_nodes_.push_back(std::move(nodes));
    }
}

void Index::add_classes() {
    std::map<std::string, std::uint32_t> known;
    for (NodeIndex at = 0; at < rows_.size(); ++at) {
        std::string key = node_class_key(*rows_[at].node);
        for (const NodeSet& nodes : partition_nodes_)
            key.push_back(nodes.has(at) ? '1' : '0');
        const auto next = static_cast<std::uint32_t>(classes_.size());
        const auto [found, is_new] = known.emplace(std::move(key), next);
        if (is_new) {
            NodeClass added;
            added.example = at;
            added.nodes = NodeSet(rows_.size());
            for (const model::Device& device : rows_[at].node->capacity.devices) {
                const auto column = std::ranges::lower_bound(columns_, leaf_class(device));
                added.device_columns.push_back(
                    static_cast<std::uint16_t>(column - columns_.begin()));
            }
            classes_.push_back(std::move(added));
        }
        rows_[at].node_class = found->second;
        classes_[found->second].nodes.add(at);
        refresh(at);
    }
}

/// False if it is new or no longer of its class.
bool Index::replace_node(const model::NodePtr& now) {
    const NodeIndex at = find_node(now->id);
    if (at == kNoNode) return false;
    const model::Node& old = *rows_[at].node;
    if (old.name != now->name || node_class_key(old) != node_class_key(*now)) return false;
    rows_[at].node = now;
    refresh(at);
    return true;
}

void Index::put(model::WorkloadId id, const model::WorkloadPtr& now) {
    put_holder(id, now);
    put_pending(id, now);
}

void Index::put_holder(model::WorkloadId id, const model::WorkloadPtr& now) {
    if (const model::WorkloadPtr* held = holders_.find(id.value())) {
        const model::WorkloadPtr old = *held;
        const bool same_grants = now != nullptr && hold_the_same(*old, *now);
        if (same_grants) {
            holders_.put(id.value(), now);
            return;
        }
        let_go(*old);
        holders_.erase(id.value());
    }
    if (now == nullptr || !holds(*now)) return;
    hold(*now);
    holders_.put(id.value(), now);
}

void Index::put_pending(model::WorkloadId id, const model::WorkloadPtr& now) {
    const bool is_pending = now != nullptr && now->status.state == model::WorkloadState::Pending;
    if (const PendingEntry* entry = pending_.find(id.value())) {
        if (is_pending && entry->workload->spec == now->spec) {
            pending_.put(id.value(), PendingEntry{now, entry->shape});
            return;
        }
        drop_pending(id);
    }
    if (is_pending) add_pending(now);
}

void Index::add_pending(const model::WorkloadPtr& workload) {
    std::string key = shape_key(*workload->spec);
    auto found = shapes_.find(key);
    if (found == shapes_.end()) {
        auto shape = std::make_shared<const Shape>(Shape{key, workload->spec});
        found = shapes_.emplace(std::move(key), ShapeUse{std::move(shape), 0}).first;
    }
    ++found->second.workloads;
    pending_.put(workload->id.value(), PendingEntry{workload, found->second.shape});
}

void Index::drop_pending(model::WorkloadId id) {
    const auto found = shapes_.find(pending_.find(id.value())->shape->key);
    if (--found->second.workloads == 0) shapes_.erase(found);
    pending_.erase(id.value());
}

void Index::hold(const model::Workload& workload) {
    for_each_held(workload, [&](const model::NodeGrant& grant) {
        const NodeIndex at = find_node(grant.node);
        if (at == kNoNode) return;
        model::take(rows_[at].use, grant, *workload.spec);
        refresh(at);
    });
}

void Index::let_go(const model::Workload& workload) {
    for_each_held(workload, [&](const model::NodeGrant& grant) {
        const NodeIndex at = find_node(grant.node);
        if (at == kNoNode) return;
        model::give_back(rows_[at].use, grant, *workload.spec);
        refresh(at);
    });
}

void Index::refresh(NodeIndex at) {
    NodeRow& row = rows_[at];
    const model::NodeCapacity& capacity = row.node->capacity;
    row.schedulable = model::is_schedulable(*row.node);
    std::int64_t granted = 0;
    for (const std::uint64_t word : row.use.cpus)
        granted += std::popcount(word);
    row.free_cpu_milli =
        std::int64_t{1000} * capacity.cpus - std::max(row.use.cpu_milli, 1000 * granted);
    row.free_memory = capacity.memory_bytes - row.use.memory_bytes;
    row.healthy_devices = 0;
    const std::size_t devices = std::min(capacity.devices.size(), kDevicesPerNodeMax);
    for (std::size_t device = 0; device < devices; ++device) {
        if (capacity.devices[device].healthy) row.healthy_devices |= std::uint64_t{1} << device;
    }
    const std::uint64_t held = row.use.devices.empty() ? 0 : row.use.devices.front();
    row.free_devices = row.healthy_devices & ~held;
}

}  // namespace twinyard::sched
