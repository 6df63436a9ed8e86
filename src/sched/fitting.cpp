#include "sched/fitting.h"

#include <algorithm>
#include <bit>

#include "model/ledger.h"

namespace twinyard::sched {
namespace {

const model::NodeCapacity& capacity_of(const Index& index, NodeIndex at) {
    return index.nodes()[at].node->capacity;
}

/// Takes `want` devices from one column where one has enough (the one with the fewest), else from
/// the fullest-used ones on. False: not so many there, or more columns than a grant may have.
bool draw_from(std::vector<std::int32_t>& counts,
               const std::vector<std::uint16_t>& columns,
               std::int64_t want,
               Take* take) {
    std::vector<std::uint16_t> by_count = columns;
    std::ranges::stable_sort(by_count, {}, [&](std::uint16_t column) { return counts[column]; });
    const auto enough = std::ranges::find_if(
        by_count, [&](std::uint16_t column) { return counts[column] >= want; });
    if (enough != by_count.end()) std::rotate(by_count.begin(), enough, enough + 1);
    for (const std::uint16_t column : by_count) {
        const std::int64_t got = std::clamp<std::int64_t>(counts[column], 0, want);
        counts[column] -= static_cast<std::int32_t>(got);
        want -= got;
        if (take != nullptr && !take->add_devices(column, static_cast<std::int32_t>(got)))
            return false;
    }
    return want == 0;
}

}  // namespace

bool Fitting::open(NodeIndex at) const {
    const NodeRoom& node = room_.node(at);
    if (node.whole > 0) return false;
    const bool mine = node.occupants == 0 || node.uid == uid_;
    if (node.same_user > 0 && !mine) return false;
    if (need_.share == model::Share::WholeNode) return node.occupants == 0;
    return need_.share != model::Share::SameUser || mine;
}

std::int64_t Fitting::core_milli(NodeIndex at) const {
    if (!need_.exclusive_cpus) return 1;
    return std::int64_t{1000} * model::threads_per_granted_core(capacity_of(index_, at));
}

std::int64_t Fitting::free_cpu_milli(NodeIndex at) const {
    std::int64_t free = room_.node(at).cpu_milli;
    if (need_.cpu_milli_max > 0) free = std::min(free, need_.cpu_milli_max);
    const std::int64_t core = core_milli(at);
    return free > 0 ? free / core * core : free;
}

std::int64_t Fitting::cpu_milli(std::uint32_t members) const {
    return need_.group->per_node.cpu_milli + members * need_.group->per_member.cpu_milli;
}

std::int64_t Fitting::memory(std::uint32_t members) const {
    if (need_.ignore_memory) return 0;
    return need_.group->per_node.memory_bytes + members * need_.group->per_member.memory_bytes;
}

bool Fitting::all_is_free(NodeIndex at) const {
    const NodeRow& row = index_.nodes()[at];
    const NodeRoom& node = room_.node(at);
    if (need_.take_all.cpus && node.cpu_milli < std::int64_t{1000} * row.node->capacity.cpus)
        return false;
    if (need_.take_all.memory && !need_.ignore_memory &&
        node.memory < row.node->capacity.memory_bytes)
        return false;
    if (!need_.take_all.devices) return true;
    std::int64_t free = 0;
    for (const std::int32_t count : room_.devices(at))
        free += count;
    return free >= std::popcount(row.healthy_devices);
}

bool Fitting::draw(std::vector<std::int32_t>& counts,
                   std::uint32_t members,
                   const Parts* parts,
                   Take* take) const {
    for (std::size_t i = 0; i < need_.devices.size(); ++i) {
        const DeviceNeed& device = need_.devices[i];
        const std::int64_t want =
            device.per_node + members * device.per_member + (parts == nullptr ? 0 : (*parts)[i]);
        if (want > 0 && !draw_from(counts, device.columns, want, take)) return false;
    }
    return true;
}

bool Fitting::devices_fit(NodeIndex at, std::uint32_t members) const {
    if (need_.devices.empty()) return true;
    const auto free = room_.devices(at);
    if (need_.devices.size() == 1) {
        const DeviceNeed& device = need_.devices.front();
        std::int64_t there = 0;
        for (const std::uint16_t column : device.columns)
            there += std::max(free[column], 0);
        return device.per_node + members * device.per_member <= there;
    }
    std::vector<std::int32_t> counts(free.begin(), free.end());
    return draw(counts, members, nullptr, nullptr);
}

bool Fitting::fits(NodeIndex at, std::uint32_t members) const {
    if (!open(at)) return false;
    const std::int64_t cpu = cpu_milli(members);
    if (cpu > 0 && cpu > free_cpu_milli(at)) return false;
    const std::int64_t bytes = memory(members);
    if (bytes > 0 && bytes > room_.node(at).memory) return false;
    return devices_fit(at, members) && all_is_free(at);
}

std::uint32_t Fitting::most_members(NodeIndex at, std::uint32_t most) const {
    if (!fits(at, 1)) return 0;
    std::uint32_t low = 1;
    const model::Resources& each = need_.group->per_member;
    std::int64_t high = most;
    if (each.cpu_milli > 0) high = std::min(high, free_cpu_milli(at) / each.cpu_milli);
    if (each.memory_bytes > 0 && !need_.ignore_memory)
        high = std::min(high, room_.node(at).memory / each.memory_bytes);
    while (low < high) {
        const auto middle = static_cast<std::uint32_t>((low + high + 1) / 2);
        if (fits(at, middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

Parts Fitting::parts_left(NodeIndex at, std::uint32_t members) const {
    const auto free = room_.devices(at);
    std::vector<std::int32_t> counts(free.begin(), free.end());
    const bool drawn = draw(counts, members, nullptr, nullptr);
    Parts parts;
    for (const DeviceNeed& device : need_.devices) {
        std::int64_t left = 0;
        for (const std::uint16_t column : device.columns)
            left += std::max(counts[column], 0);
        parts.push_back(drawn && device.total > 0 ? std::min(left, device.total) : 0);
    }
    const model::Resources& total = need_.group->total;
    parts.push_back(
        std::clamp<std::int64_t>(free_cpu_milli(at) - cpu_milli(members), 0, total.cpu_milli));
    parts.push_back(need_.ignore_memory
                        ? total.memory_bytes
                        : std::clamp<std::int64_t>(
                              room_.node(at).memory - memory(members), 0, total.memory_bytes));
    return parts;
}

std::optional<Take> Fitting::take(NodeIndex at, std::uint32_t members, const Parts& parts) const {
    const NodeRow& row = index_.nodes()[at];
    Take take;
    take.share = need_.share;
    take.uid = uid_;
    const std::size_t devices = need_.devices.size();
    const std::int64_t core = core_milli(at);
    take.cpu_milli = (cpu_milli(members) + parts[devices] + core - 1) / core * core;
    if (need_.take_all.cpus) take.cpu_milli = std::int64_t{1000} * row.node->capacity.cpus;
    if (!need_.ignore_memory) {
        take.memory = memory(members) + parts[devices + 1];
        if (need_.take_all.memory) take.memory = row.node->capacity.memory_bytes;
    }
    const auto free = room_.devices(at);
    std::vector<std::int32_t> counts(free.begin(), free.end());
    if (!need_.take_all.devices) {
        if (!draw(counts, members, &parts, &take)) return std::nullopt;
        return take;
    }
    for (std::size_t column = 0; column < counts.size(); ++column) {
        if (!take.add_devices(static_cast<std::uint16_t>(column), counts[column]))
            return std::nullopt;
    }
    return take;
}

}  // namespace twinyard::sched
