#include "sched/room.h"

#include <algorithm>
#include <bit>

namespace twinyard::sched {
namespace {

/// visit(device index) for each bit.
template <class Visit>
void for_each_bit(std::uint64_t bits, Visit&& visit) {
    for (; bits != 0; bits &= bits - 1)
        visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

/// All of it but the devices.
void book(NodeRoom& node, const Take& take) {
    node.cpu_milli -= take.cpu_milli;
    node.memory -= take.memory;
    node.uid = node.occupants == 0 || node.uid == take.uid ? take.uid : kNobody;
    ++node.occupants;
    if (take.share == model::Share::WholeNode) ++node.whole;
    if (take.share == model::Share::SameUser) ++node.same_user;
}

}  // namespace

bool Take::add_devices(std::uint16_t column, std::int32_t count) {
    if (count == 0) return true;
    for (std::uint32_t i = 0; i < columns; ++i) {
        if (devices[i].column != column) continue;
        devices[i].count += count;
        return true;
    }
    if (columns == kColumnsPerGrantMax) return false;
    devices[columns++] = ColumnCount{column, count};
    return true;
}

void Room::set_up_levels(const Index& index) {
    std::vector<std::int32_t> most(columns_, 0);
    for (const NodeClass& each : index.classes()) {
        std::vector<std::int32_t> counts(columns_, 0);
        for (const std::uint16_t column : each.device_columns)
            ++counts[column];
        for (std::size_t column = 0; column < columns_; ++column)
            most[column] = std::max(most[column], counts[column]);
    }
    for (std::size_t column = 0; column < columns_; ++column)
        at_least_[column].assign(static_cast<std::size_t>(most[column]), NodeSet(nodes_.size()));
}

Room Room::now(const Index& index) {
    Room room(index.nodes().size(), index.columns().size());
    room.set_up_levels(index);
    for (NodeIndex at = 0; at < index.nodes().size(); ++at) {
        const NodeRow& row = index.nodes()[at];
        NodeRoom& node = room.nodes_[at];
        node.cpu_milli = row.free_cpu_milli;
        node.memory = row.free_memory;
        node.occupants = static_cast<std::int32_t>(row.use.grants);
        node.whole = static_cast<std::int32_t>(row.use.whole_node);
        node.same_user = static_cast<std::int32_t>(row.use.same_user);
        node.uid = row.use.users.size() == 1 ? row.use.users.front().uid : kNobody;
        const auto& columns = index.classes()[row.node_class].device_columns;
        std::vector<std::int32_t> counts(room.columns_, 0);
        for_each_bit(row.free_devices, [&](std::size_t device) { ++counts[columns[device]]; });
        for (std::size_t column = 0; column < room.columns_; ++column)
            room.set_devices(at, column, counts[column]);
    }
    return room;
}

Room Room::idle(const Index& index) {
    Room room(index.nodes().size(), index.columns().size());
    room.set_up_levels(index);
    for (NodeIndex at = 0; at < index.nodes().size(); ++at) {
        const NodeRow& row = index.nodes()[at];
        room.nodes_[at].cpu_milli = std::int64_t{1000} * row.node->capacity.cpus;
        room.nodes_[at].memory = row.node->capacity.memory_bytes;
        const auto& columns = index.classes()[row.node_class].device_columns;
        std::vector<std::int32_t> counts(room.columns_, 0);
        for_each_bit(row.healthy_devices, [&](std::size_t device) { ++counts[columns[device]]; });
        for (std::size_t column = 0; column < room.columns_; ++column)
            room.set_devices(at, column, counts[column]);
    }
    return room;
}

void Room::set_devices(NodeIndex at, std::size_t column, std::int32_t count) {
    std::int32_t& now = devices_[std::size_t{at} * columns_ + column];
    std::vector<NodeSet>& levels = at_least_[column];
    for (std::int32_t level = std::max(now, 0); level < count; ++level)
        levels[static_cast<std::size_t>(level)].add(at);
    for (std::int32_t level = std::max(count, 0); level < now; ++level)
        levels[static_cast<std::size_t>(level)].remove(at);
    now = count;
}

void Room::take(NodeIndex at, const Take& take) {
    book(nodes_[at], take);
    for (const ColumnCount& each : take.device_counts())
        set_devices(at, each.column, devices(at)[each.column] - each.count);
}

void Room::take(Saved& saved, const Take& take) {
    book(saved.node, take);
    for (const ColumnCount& each : take.device_counts())
        saved.devices[each.column] -= each.count;
}

void Room::give_back(NodeIndex at, const Take& take) {
    NodeRoom& node = nodes_[at];
    node.cpu_milli += take.cpu_milli;
    node.memory += take.memory;
    if (--node.occupants == 0) node.uid = kNobody;
    if (take.share == model::Share::WholeNode) --node.whole;
    if (take.share == model::Share::SameUser) --node.same_user;
    for (const ColumnCount& each : take.device_counts())
        set_devices(at, each.column, devices(at)[each.column] + each.count);
}

const NodeSet* Room::at_least(std::size_t column, std::int64_t count) const {
    if (count < 1 || count > levels(column)) return nullptr;
    return &at_least_[column][static_cast<std::size_t>(count - 1)];
}

Room::Saved Room::save(NodeIndex at) const {
    const auto counts = devices(at);
    return Saved{at, nodes_[at], {counts.begin(), counts.end()}};
}

void Room::restore(const Saved& saved) {
    nodes_[saved.at] = saved.node;
    for (std::size_t column = 0; column < columns_; ++column)
        set_devices(saved.at, column, saved.devices[column]);
}

void Room::cap(const Saved& ceiling) {
    NodeRoom& node = nodes_[ceiling.at];
    const NodeRoom& other = ceiling.node;
    node.cpu_milli = std::min(node.cpu_milli, other.cpu_milli);
    node.memory = std::min(node.memory, other.memory);
    if (node.occupants == 0) {
        node.uid = other.uid;
    } else if (other.occupants > 0 && node.uid != other.uid) {
        node.uid = kNobody;
    }
    node.occupants = std::max(node.occupants, other.occupants);
    node.whole = std::max(node.whole, other.whole);
    node.same_user = std::max(node.same_user, other.same_user);
    for (std::size_t column = 0; column < columns_; ++column) {
        set_devices(
            ceiling.at, column, std::min(devices(ceiling.at)[column], ceiling.devices[column]));
    }
}

Take take_of(const Index& index,
             NodeIndex at,
             const model::NodeGrant& grant,
             const model::WorkloadSpec& spec) {
    const NodeRow& row = index.nodes()[at];
    const auto& columns = index.classes()[row.node_class].device_columns;
    Take take;
    take.cpu_milli = grant.cpu_milli;
    take.memory = grant.memory_bytes;
    take.uid = spec.uid;
    if (grant.group < spec.groups.size()) take.share = spec.groups[grant.group].share;
    for (const std::uint16_t device : grant.devices) {
        // A sick device frees nothing when its holder ends.
        const bool counts = device < kDevicesPerNodeMax && device < columns.size() &&
                            (row.healthy_devices >> device & 1) != 0;
        if (counts) take.add_devices(columns[device], 1);
    }
    return take;
}

}  // namespace twinyard::sched
