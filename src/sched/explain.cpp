#include "sched/explain.h"

#include <algorithm>
#include <string_view>

namespace twinyard::sched {
namespace {

/// A verdict names so many nodes at most.
constexpr std::size_t kNodesNamedMax = 64;
constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kGibi = std::int64_t{1} << 30;

std::string count_of(std::int64_t count, std::string_view what) {
    std::string text = std::to_string(count) + " " + std::string(what);
    if (count != 1) text += "s";
    return text;
}

std::string memory_text(std::int64_t bytes) {
    if (bytes % kGibi == 0 || bytes >= 100 * kGibi) return std::to_string(bytes / kGibi) + " GiB";
    return std::to_string(bytes / kMebi) + " MiB";
}

std::string amount_text(const std::string& what, std::int64_t amount) {
    if (what == "memory") return memory_text(amount) + " of memory";
    if (what == "nodes") return count_of(amount, "node");
    if (what == "cpu") return count_of(amount, "cpu");
    return std::to_string(amount) + " " + what;
}

/// "4d 2h", "35 min", "20 s": the two largest units.
std::string duration_text(Millis length) {
    const std::int64_t seconds = (length.count() + 999) / 1000;
    if (seconds < 120) return std::to_string(seconds) + " s";
    const std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (minutes < 120 && minutes % 60 != 0) return std::to_string(minutes) + " min";
    if (hours < 48) {
        const std::string rest =
            minutes % 60 == 0 ? "" : " " + std::to_string(minutes % 60) + "min";
        return std::to_string(hours) + "h" + rest;
    }
    return std::to_string(days) + "d" +
           (hours % 24 == 0 ? "" : " " + std::to_string(hours % 24) + "h");
}

std::int64_t nodes_needed(const Request& request) {
    std::int64_t nodes = 0;
    for (const GroupNeed& need : request.groups)
        nodes += std::max(need.group->nodes.min, 1U);
    return nodes;
}

std::int64_t sum_columns(const std::vector<std::int64_t>& amounts, const DeviceNeed& need) {
    std::int64_t sum = 0;
    for (const std::uint16_t column : need.columns)
        sum += amounts[column];
    return sum;
}

std::int64_t least_of(const model::TaskGroup& group,
                      std::int64_t per_member,
                      std::int64_t per_node,
                      std::int64_t total) {
    return per_member * group.members.min + per_node * std::max(group.nodes.min, 1U) + total;
}

void add_shortage(std::vector<model::Shortage>& list,
                  const std::string& what,
                  std::int64_t need,
                  std::int64_t free,
                  std::int64_t total) {
    if (need <= 0) return;
    const auto found = std::ranges::find(list, what, &model::Shortage::what);
    if (found != list.end()) {
        found->need += need;
        return;
    }
    list.push_back(model::Shortage{what, need, std::max<std::int64_t>(free, 0), total});
}

/// All that is asked for; what there is too little of first.
std::vector<model::Shortage> shortages_of(const Question& question) {
    std::vector<model::Shortage> list;
    const Amounts& free = question.free;
    const Amounts& total = question.total;
    for (const GroupNeed& need : question.request.groups) {
        const model::TaskGroup& group = *need.group;
        for (const DeviceNeed& device : need.devices) {
            add_shortage(list,
                         device.class_path,
                         least_of(group, device.per_member, device.per_node, device.total),
                         sum_columns(free.devices, device),
                         sum_columns(total.devices, device));
        }
        const std::int64_t milli = least_of(
            group, group.per_member.cpu_milli, group.per_node.cpu_milli, group.total.cpu_milli);
        add_shortage(
            list, "cpu", (milli + 999) / 1000, free.cpu_milli / 1000, total.cpu_milli / 1000);
        const std::int64_t bytes = least_of(group,
                                            group.per_member.memory_bytes,
                                            group.per_node.memory_bytes,
                                            group.total.memory_bytes);
        if (!need.ignore_memory) add_shortage(list, "memory", bytes, free.memory, total.memory);
    }
    add_shortage(list,
                 "nodes",
                 nodes_needed(question.request),
                 question.fitting_nodes,
                 question.possible_nodes);
    std::ranges::stable_sort(list, {}, [](const model::Shortage& each) {
        if (each.need > each.total) return 0;
        return each.need > each.free ? 1 : 2;
    });
    return list;
}

const DeviceNeed* find_device(const Request& request, const std::string& what) {
    for (const GroupNeed& need : request.groups) {
        const auto found = std::ranges::find(need.devices, what, &DeviceNeed::class_path);
        if (found != need.devices.end()) return &*found;
    }
    return nullptr;
}

/// The demand in the words of its scarcest part: "16 gpu/h100 on 2 nodes".
std::string demand_text(const Question& question, const model::Shortage& first) {
    const std::int64_t nodes = nodes_needed(question.request);
    if (first.what != "nodes")
        return amount_text(first.what, first.need) + " on " + count_of(nodes, "node");
    std::string text = count_of(nodes, "node");
    const model::TaskGroup& group = *question.request.groups.front().group;
    std::string_view joint = " with ";
    for (const DeviceNeed& device : question.request.groups.front().devices) {
        const std::int64_t each = device.per_node + device.per_member;
        if (each == 0) continue;
        text.append(joint).append(std::to_string(each) + " " + device.class_path);
        joint = " and ";
    }
    const std::int64_t milli = group.per_node.cpu_milli + group.per_member.cpu_milli;
    if (milli > 0) {
        text.append(joint).append(count_of((milli + 999) / 1000, "cpu"));
        joint = " and ";
    }
    const std::int64_t bytes = group.per_node.memory_bytes + group.per_member.memory_bytes;
    if (bytes > 0) text.append(joint).append(memory_text(bytes) + " of memory");
    if (question.request.groups.front().take_all.memory) text += ", all memory";
    if (question.request.groups.front().share == model::Share::WholeNode) text += ", to itself";
    return text + (nodes == 1 ? "" : " each");
}

std::string supply_text(const Question& question, const model::Shortage& first) {
    if (first.what == "nodes") {
        const std::int64_t fitting = question.fitting_nodes;
        return std::to_string(fitting) + (fitting == 1 ? " such node is" : " such nodes are") +
               " free now";
    }
    std::string text =
        first.what == "memory" ? memory_text(first.free) : std::to_string(first.free);
    text += first.free == 1 || first.what == "memory" ? " is free now" : " are free now";
    const DeviceNeed* device = find_device(question.request, first.what);
    if (device == nullptr || first.free == 0) return text;
    return text + " on " + count_of(sum_columns(question.free.device_nodes, *device), "node");
}

std::string ahead_text(const Ahead& ahead) {
    if (ahead.count == 0) return "none is ahead";
    if (ahead.count == 1) return "1 job is ahead, " + ahead.first_name;
    return std::to_string(ahead.count) + " jobs are ahead, first is " + ahead.first_name;
}

std::string waiting_text(const Question& question, const model::Shortage& first) {
    std::string text = "needs " + demand_text(question, first) + "; " +
                       supply_text(question, first) + "; " + ahead_text(question.ahead);
    if (question.starts_in)
        text += "; its start is reserved in " + duration_text(*question.starts_in);
    return text;
}

std::string partition_text(const Question& question) {
    const model::Partition& partition = question.index.config().partitions[question.partition];
    const std::string name = "partition " + partition.name;
    switch (question.wait) {
        case model::Wait::PartitionDown:
            return name + " is down: it starts nothing";
        case model::Wait::PartitionInactive:
            return name + " is inactive: it starts nothing";
        case model::Wait::PartitionTime:
            return "its time limit is above the " + duration_text(*partition.time_max) + " that " +
                   name + " allows";
        default:
            break;
    }
    const std::int64_t there = question.index.partition_nodes()[question.partition].count();
    const std::int64_t needed = nodes_needed(question.request);
    std::string text = "needs " + count_of(needed, "node") + "; " + name + " ";
    if (needed > there) return text + "has " + std::to_string(there);
    if (partition.nodes_max && needed > *partition.nodes_max)
        return text + "allows " + std::to_string(*partition.nodes_max);
    return text + "wants at least " + std::to_string(partition.nodes_min);
}

std::string impossible_text(const Question& question, const model::Shortage& first) {
    const model::Partition& partition = question.index.config().partitions[question.partition];
    const std::string text = "needs " + demand_text(question, first) + "; ";
    if (first.what != "nodes" && first.need > first.total) {
        return text + "partition " + partition.name + " has " +
               amount_text(first.what, first.total) + " in all";
    }
    return text + count_of(question.possible_nodes, "node") + " of partition " + partition.name +
           " could ever give that";
}

std::string text_of(const Question& question, const model::Shortage& first) {
    switch (question.wait) {
        case model::Wait::Resources:
        case model::Wait::Priority:
            return waiting_text(question, first);
        case model::Wait::EndlessHolders:
            return waiting_text(question, first) +
                   "; work without an end holds what it needs, so no start can be told";
        case model::Wait::NodesUnavailable:
            return "needs " + demand_text(question, first) +
                   "; it would fit if all nodes of its partition could be used";
        case model::Wait::NeverFits:
            return impossible_text(question, first);
        case model::Wait::Unsupported:
            return "asks for " + question.request.unsupported + ", which cannot be placed yet";
        default:
            return partition_text(question);
    }
}

const char* plain_text(model::Wait wait) {
    switch (wait) {
        case model::Wait::Held:
            return "held by its user";
        case model::Wait::HeldByAdmin:
            return "held by an administrator";
        case model::Wait::BeginTime:
            return "its begin time has not come";
        case model::Wait::BackOff:
            return "waits a while after a failed launch";
        case model::Wait::Unsupported:
            return "asks for few switches, which cannot be placed yet: no topology is known";
        case model::Wait::Dependency:
            return "waits for other work";
        case model::Wait::PartitionInactive:
            return "none of the partitions it names exists";
        default:
            return "waits";
    }
}

}  // namespace

Amounts sum_up(const Room& room, const NodeSet& nodes) {
    Amounts sum;
    sum.devices.assign(room.columns(), 0);
    sum.device_nodes.assign(room.columns(), 0);
    nodes.for_each([&](NodeIndex at) {
        ++sum.nodes;
        sum.cpu_milli += std::max<std::int64_t>(room.node(at).cpu_milli, 0);
        sum.memory += std::max<std::int64_t>(room.node(at).memory, 0);
        const auto devices = room.devices(at);
        for (std::size_t column = 0; column < devices.size(); ++column) {
            sum.devices[column] += std::max(devices[column], 0);
            sum.device_nodes[column] += devices[column] > 0 ? 1 : 0;
        }
    });
    return sum;
}

std::string name_of(const model::Workload& workload) {
    if (workload.job) return "job " + std::to_string(workload.job.value());
    return "workload " + std::to_string(workload.id.value());
}

model::VerdictPtr explain(const Question& question) {
    auto verdict = std::make_shared<model::Verdict>();
    verdict->wait = question.wait;
    verdict->shortages = shortages_of(question);
    const bool waits = question.wait == model::Wait::Resources ||
                       question.wait == model::Wait::Priority ||
                       question.wait == model::Wait::EndlessHolders;
    if (waits) {
        verdict->ahead = question.ahead.count;
        verdict->first_ahead = question.ahead.first;
    }
    if (question.wait == model::Wait::NodesUnavailable) {
        question.unavailable.for_each([&](NodeIndex at) {
            verdict->nodes.push_back(question.index.nodes()[at].node->name);
            return verdict->nodes.size() < kNodesNamedMax;
        });
    }
    verdict->text = text_of(question, verdict->shortages.front());
    return verdict;
}

model::VerdictPtr explain(model::Wait wait) {
    auto verdict = std::make_shared<model::Verdict>();
    verdict->wait = wait;
    verdict->text = plain_text(wait);
    return verdict;
}

}  // namespace twinyard::sched
