#include "model/tres.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace twinyard::model {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
}

void add(Amounts& sum, std::int64_t& cpu_milli, const Resources& part, std::int64_t times) {
    cpu_milli += part.cpu_milli * times;
    sum.memory_bytes += part.memory_bytes * times;
    for (const DeviceRequest& device : part.devices)
        sum.devices[std::string(class_root(device.class_path))] += device.count * times;
}

std::int64_t nodes_least(const TaskGroup& group) {
    const std::int64_t per_node = std::max<std::int64_t>(group.members_per_node.max, 1);
    return std::max<std::int64_t>(group.nodes.min, ceil_div(group.members.min, per_node));
}

std::string memory_text(std::int64_t bytes) {
    std::int64_t amount = ceil_div(bytes, kMiB);
    std::string_view unit = "M";
    for (const std::string_view larger : {"G", "T", "P"}) {
        if (amount % 1024 != 0) break;
        amount /= 1024;
        unit = larger;
    }
    return std::to_string(amount) + std::string(unit);
}

void append(std::string& text, const std::string& name, const std::string& value) {
    if (!text.empty()) text += ',';
    text += name + '=' + value;
}

}  // namespace

std::string_view class_root(std::string_view class_path) {
    return class_path.substr(0, class_path.find('/'));
}

Amounts requested_amounts(const WorkloadSpec& spec) {
    Amounts sum;
    std::int64_t cpu_milli = 0;
    for (const TaskGroup& group : spec.groups) {
        const std::int64_t nodes = nodes_least(group);
        add(sum, cpu_milli, group.per_member, group.members.min);
        add(sum, cpu_milli, group.per_node, nodes);
        add(sum, cpu_milli, group.total, 1);
        sum.nodes += nodes;
    }
    sum.cpus = ceil_div(cpu_milli, 1000);
    return sum;
}

Amounts granted_amounts(const Placement& placement, const IdMap<NodePtr>& nodes) {
    Amounts sum;
    std::set<NodeId> used;
    for (const NodeGrant& grant : placement.grants) {
        used.insert(grant.node);
        sum.cpus += grant.cpus.empty() ? ceil_div(grant.cpu_milli, 1000)
                                       : static_cast<std::int64_t>(grant.cpus.size());
        sum.memory_bytes += grant.memory_bytes;
        const NodePtr* node = nodes.find(grant.node.value());
        for (const std::uint16_t device : grant.devices) {
            const bool known = node != nullptr && device < (*node)->capacity.devices.size();
            if (!known) continue;
            ++sum.devices[std::string(class_root((*node)->capacity.devices[device].class_path))];
        }
    }
    sum.nodes = static_cast<std::int64_t>(used.size());
    return sum;
}

std::string amounts_text(const Amounts& amounts) {
    std::string text;
    if (amounts.cpus > 0) append(text, "cpu", std::to_string(amounts.cpus));
    if (amounts.memory_bytes > 0) append(text, "mem", memory_text(amounts.memory_bytes));
    if (amounts.nodes > 0) append(text, "node", std::to_string(amounts.nodes));
    if (amounts.cpus > 0) append(text, "billing", std::to_string(amounts.cpus));
    for (const auto& [name, count] : amounts.devices) {
        if (count > 0) append(text, "gres/" + name, std::to_string(count));
    }
    return text;
}

}  // namespace twinyard::model
