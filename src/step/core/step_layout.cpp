#include "step/core/step_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace twinyard::step {

namespace {

constexpr std::string_view kTooManyCpus = "More processors requested than permitted";
constexpr std::string_view kNoSuchNodes = "Requested node configuration is not available";
constexpr std::string_view kBadGres = "Invalid generic resource (gres) specification";

std::unexpected<StepRefusal> refuse(std::string_view text) {
    return std::unexpected(StepRefusal{std::string(text)});
}

bool names(const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
}

/// How many tasks a node can take; 0: none, or not as the step wants it.
std::uint32_t capacity(const StepNeed& need, const NodeRoom& room) {
    const bool whole = !need.exact && !need.overlap;
    if (whole && room.cpus.size() < room.cpus_granted) return 0;
    std::uint32_t most =
        static_cast<std::uint32_t>(room.cpus.size()) / std::max(need.cpus_per_task, 1U);
    if (need.ntasks_per_node) most = std::min(most, *need.ntasks_per_node);
    const auto devices = static_cast<std::uint32_t>(room.devices.size());
    if (need.devices.kind == DeviceNeed::Kind::PerTask && need.devices.count > 0) {
        most = std::min(most, devices / need.devices.count);
    }
    const bool lacks =
        need.devices.kind == DeviceNeed::Kind::PerNode && devices < need.devices.count;
    return lacks ? 0 : most;
}

/// Between how many nodes the step wants.
struct NodeCount {
    std::size_t least = 1, most = 1;
};

NodeCount node_count(const StepNeed& need, std::size_t candidates) {
    if (need.nodes_min) {
        std::size_t least = *need.nodes_min;
        if (need.ntasks) least = std::min<std::size_t>(least, std::max(*need.ntasks, 1U));
        const std::size_t most = std::max<std::size_t>(least, need.nodes_max.value_or(0));
        return {std::max<std::size_t>(least, 1), std::max<std::size_t>(most, 1)};
    }
    if (!need.only.empty()) return {candidates, candidates};
    const std::optional<std::uint32_t> tasks = need.ntasks ? need.ntasks : need.job_ntasks;
    const std::size_t wanted =
        tasks ? std::min<std::size_t>(candidates, std::max(*tasks, 1U)) : candidates;
    return {wanted, candidates};
}

std::uint32_t task_count(const StepNeed& need, std::size_t nodes) {
    const auto count = static_cast<std::uint32_t>(nodes);
    if (need.ntasks) return *need.ntasks;
    if (need.ntasks_per_node) return *need.ntasks_per_node * count;
    if (need.nodes_min || !need.job_ntasks) return count;
    return std::max(*need.job_ntasks, count);
}

/// Tasks a node, each at least one and at most its capacity; empty: they do not fit.
std::vector<std::uint32_t> spread(std::uint32_t tasks, const std::vector<std::uint32_t>& most) {
    const auto room = std::accumulate(most.begin(), most.end(), std::uint64_t{0});
    if (tasks < most.size() || tasks > room) return {};
    std::vector<std::uint32_t> out(most.size(), 1);
    auto left = tasks - static_cast<std::uint32_t>(most.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint32_t more = std::min(left, most[i] - 1);
        out[i] += more;
        left -= more;
    }
    return out;
}

std::uint32_t devices_wanted(const StepNeed& need,
                             std::uint32_t tasks,
                             std::uint32_t& total_left,
                             std::uint32_t here) {
    switch (need.devices.kind) {
        case DeviceNeed::Kind::AllOfJob:
            return here;
        case DeviceNeed::Kind::PerNode:
            return need.devices.count;
        case DeviceNeed::Kind::PerTask:
            return need.devices.count * tasks;
        case DeviceNeed::Kind::Total:
            break;
    }
    const std::uint32_t taken = std::min(total_left, here);
    total_left -= taken;
    return taken;
}

std::vector<std::uint16_t> first_of(const std::vector<std::uint16_t>& all, std::size_t count) {
    const std::size_t taken = std::min(count, all.size());
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken)};
}

std::expected<std::vector<StepPlace>, StepRefusal> take(const StepNeed& need,
                                                        const std::vector<NodeRoom>& rooms,
                                                        const std::vector<std::uint32_t>& chosen,
                                                        const std::vector<std::uint32_t>& tasks) {
    std::vector<StepPlace> places;
    std::uint32_t first = 0;
    std::uint32_t total_left = need.devices.count;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const NodeRoom& room = rooms[chosen[i]];
        StepPlace place{.node = chosen[i], .first_task = first, .tasks = tasks[i]};
        const auto here = static_cast<std::uint32_t>(room.devices.size());
        place.devices = first_of(room.devices, devices_wanted(need, tasks[i], total_left, here));
        const std::size_t cpus =
            need.exact ? std::size_t{tasks[i]} * need.cpus_per_task : room.cpus.size();
        place.cpus = first_of(room.cpus, cpus);
        first += tasks[i];
        places.push_back(std::move(place));
    }
    if (need.devices.kind == DeviceNeed::Kind::Total && total_left > 0) return refuse(kBadGres);
    return places;
}

/// The first `count` nodes with room for a task; as many as there are.
std::vector<std::uint32_t> choose(const StepNeed& need,
                                  const std::vector<NodeRoom>& rooms,
                                  const std::vector<std::uint32_t>& candidates,
                                  std::size_t count) {
    std::vector<std::uint32_t> chosen;
    for (const std::uint32_t node : candidates) {
        if (chosen.size() == count) break;
        if (capacity(need, rooms[node]) > 0) chosen.push_back(node);
    }
    return chosen;
}

bool lacks_devices(const StepNeed& need, const std::vector<NodeRoom>& rooms) {
    const bool per_place = need.devices.kind == DeviceNeed::Kind::PerNode ||
                           need.devices.kind == DeviceNeed::Kind::PerTask;
    return per_place && std::ranges::none_of(rooms, [&](const NodeRoom& room) {
               return room.devices.size() >= need.devices.count;
           });
}

}  // namespace

std::expected<std::vector<StepPlace>, StepRefusal> lay_out(
    const StepNeed& need,
    const std::vector<NodeRoom>& rooms,
    const std::vector<std::uint32_t>& job_tasks) {
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < rooms.size(); ++i) {
        const bool wanted = need.only.empty() || names(need.only, rooms[i].name);
        if (wanted && !names(need.without, rooms[i].name)) candidates.push_back(i);
    }
    if (candidates.empty() || candidates.size() < need.only.size()) return refuse(kNoSuchNodes);
    if (lacks_devices(need, rooms)) return refuse(kBadGres);
    const NodeCount count = node_count(need, candidates.size());
    if (count.least > candidates.size()) return refuse(kNoSuchNodes);
    const std::size_t most_nodes = std::min(count.most, candidates.size());
    for (std::size_t nodes = count.least; nodes <= most_nodes; ++nodes) {
        const std::vector<std::uint32_t> chosen = choose(need, rooms, candidates, nodes);
        if (chosen.size() < nodes) break;
        std::vector<std::uint32_t> most;
        for (const std::uint32_t node : chosen)
            most.push_back(capacity(need, rooms[node]));
        const std::uint32_t tasks = task_count(need, nodes);
        std::vector<std::uint32_t> spread_out = spread(tasks, most);
        const bool like_job = chosen.size() == job_tasks.size() && !need.ntasks_per_node &&
                              need.job_ntasks &&
                              std::accumulate(job_tasks.begin(), job_tasks.end(), 0U) == tasks;
        if (like_job && !spread_out.empty()) {
            bool fits = true;
            for (std::size_t i = 0; i < most.size(); ++i)
                fits = fits && job_tasks[i] > 0 && job_tasks[i] <= most[i];
            if (fits) spread_out = job_tasks;
        }
        if (!spread_out.empty()) return take(need, rooms, chosen, spread_out);
    }
    return refuse(kTooManyCpus);
}

}  // namespace twinyard::step
