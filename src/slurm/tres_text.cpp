#include "slurm/tres_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/duration_text.h"
#include "slurm/environment.h"

namespace twinyard::slurm {

namespace {

using model::TaskGroup;

/// "gpu/h100" as Slurm writes it: "gpu:h100".
std::string gres_name(std::string_view class_path) {
    std::string name(class_path);
    std::ranges::replace(name, '/', ':');
    return name;
}

std::int64_t least(const TaskGroup& group, std::int64_t model::Resources::*amount) {
    return group.per_member.*amount * group.members.min + group.per_node.*amount * group.nodes.min +
           group.total.*amount;
}

void add_devices(std::vector<model::DeviceRequest>& all,
                 const std::vector<model::DeviceRequest>& more,
                 std::int64_t times) {
    for (model::DeviceRequest device : more) {
        device.count *= times;
        all.push_back(std::move(device));
    }
}

}  // namespace

std::int64_t requested_cpus(const model::WorkloadSpec& spec) {
    std::int64_t cpus = 0;
    for (const TaskGroup& group : spec.groups) {
        const std::int64_t milli = least(group, &model::Resources::cpu_milli);
        cpus += std::max<std::int64_t>((milli + 999) / 1000, group.nodes.min);
    }
    return cpus;
}

std::int64_t granted_cpus(const model::Placement& placement) {
    std::int64_t cpus = 0;
    for (const model::NodeGrant& grant : placement.grants) {
        cpus += grant.cpus.empty() ? (grant.cpu_milli + 999) / 1000
                                   : static_cast<std::int64_t>(grant.cpus.size());
    }
    return cpus;
}

std::string devices_text(const std::vector<model::DeviceRequest>& devices) {
    std::string text;
    for (const model::DeviceRequest& device : devices) {
        if (!text.empty()) text += ',';
        text += "gres/" + gres_name(device.class_path) + ":" + std::to_string(device.count);
    }
    return text;
}

std::string granted_gres(const std::vector<model::Device>& devices,
                         const std::vector<std::uint16_t>& indexes) {
    std::map<std::string, std::vector<std::uint16_t>> by_class;
    for (const std::uint16_t index : indexes) {
        if (index < devices.size()) by_class[devices[index].class_path].push_back(index);
    }
    std::string text;
    for (auto& [class_path, own] : by_class) {
        std::ranges::sort(own);
        if (!text.empty()) text += ',';
        text += gres_name(class_path) + ":" + std::to_string(own.size()) +
                "(IDX:" + index_ranges(own) + ")";
    }
    return text;
}

std::string tres_text(const TresAmounts& amounts) {
    std::string text = "cpu=" + std::to_string(amounts.cpus);
    if (amounts.memory_bytes > 0) text += ",mem=" + format_size(amounts.memory_bytes);
    if (amounts.nodes > 0) text += ",node=" + std::to_string(amounts.nodes);
    text += ",billing=" + std::to_string(amounts.cpus);
    // Each class counts once at every level of its path: gpu:h100 is a gpu too.
    std::map<std::string, std::int64_t> levels;
    for (const model::DeviceRequest& device : amounts.devices) {
        const std::size_t slash = device.class_path.find('/');
        levels[device.class_path.substr(0, slash)] += device.count;
        if (slash != std::string::npos) levels[gres_name(device.class_path)] += device.count;
    }
    for (const auto& [name, count] : levels) {
        text += ",gres/" + name + "=" + std::to_string(count);
    }
    return text;
}

std::string requested_tres(const model::WorkloadSpec& spec) {
    TresAmounts amounts;
    amounts.cpus = requested_cpus(spec);
    for (const TaskGroup& group : spec.groups) {
        amounts.memory_bytes += least(group, &model::Resources::memory_bytes);
        amounts.nodes += group.nodes.min;
        add_devices(amounts.devices, group.per_member.devices, group.members.min);
        add_devices(amounts.devices, group.per_node.devices, group.nodes.min);
        add_devices(amounts.devices, group.total.devices, 1);
    }
    return tres_text(amounts);
}

std::string allocated_tres(const model::Snapshot& snapshot, const model::Placement& placement) {
    TresAmounts amounts;
    amounts.cpus = granted_cpus(placement);
    std::set<model::NodeId> nodes;
    for (const model::NodeGrant& grant : placement.grants) {
        nodes.insert(grant.node);
        amounts.memory_bytes += grant.memory_bytes;
        const model::Node* node = find(snapshot, grant.node);
        for (const std::uint16_t index : grant.devices) {
            const bool known = node != nullptr && index < node->capacity.devices.size();
            amounts.devices.push_back(
                {known ? node->capacity.devices[index].class_path : "gpu", 1, 0});
        }
    }
    amounts.nodes = static_cast<std::int64_t>(nodes.size());
    return tres_text(amounts);
}

std::string gres_text(const std::vector<model::Device>& devices) {
    std::map<std::string, int> counts;
    for (const model::Device& device : devices)
        ++counts[device.class_path];
    std::string text;
    for (const auto& [class_path, count] : counts) {
        if (!text.empty()) text += ',';
        text += gres_name(class_path) + ":" + std::to_string(count);
    }
    return text;
}

}  // namespace twinyard::slurm
