#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "model/resources.h"
#include "sched/place.h"

namespace twinyard::sched {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::optional<std::int64_t> to_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool compares(const std::string& value, const model::LabelTest& test) {
    if (test.values.empty()) return false;
    const auto left = to_number(value);
    const auto right = to_number(test.values.front());
    if (!left || !right) return false;
    return test.op == model::LabelOp::Greater ? *left > *right : *left < *right;
}

bool holds(const model::LabelTest& test, const Labels& labels) {
    const auto found = std::ranges::find(labels, test.key, &Labels::value_type::first);
    const bool there = found != labels.end();
    const auto listed = [&] { return std::ranges::count(test.values, found->second) > 0; };
    switch (test.op) {
        case model::LabelOp::Exists:
            return there;
        case model::LabelOp::DoesNotExist:
            return !there;
        case model::LabelOp::In:
            return there && listed();
        case model::LabelOp::NotIn:
            return !there || !listed();
        case model::LabelOp::Greater:
        case model::LabelOp::Less:
            return there && compares(found->second, test);
    }
    return false;
}

NodeSet nodes_with(const Index& index, const model::NodeTerm& term) {
    NodeSet nodes(index.nodes().size());
    for (const NodeClass& each : index.classes()) {
        const Labels& labels = index.nodes()[each.example].node->labels;
        if (std::ranges::all_of(term.all, [&](const auto& test) { return holds(test, labels); }))
            nodes |= each.nodes;
    }
    return nodes;
}

std::vector<NodeSet> allowed_nodes(const Index& index,
                                   const model::Where& where,
                                   const NodeSet& partition) {
    std::vector<NodeSet> alternatives;
    for (const model::NodeTerm& term : where.any_of)
        alternatives.push_back(nodes_with(index, term));
    if (alternatives.empty()) alternatives.push_back(partition);
    if (!where.same_alternative) {
        for (std::size_t i = 1; i < alternatives.size(); ++i)
            alternatives[0] |= alternatives[i];
        alternatives.resize(1);
    }
    for (NodeSet& nodes : alternatives) {
        nodes &= partition;
        for (const std::string& name : where.exclude) {
            if (const NodeIndex at = index.find_node(name); at != Index::kNoNode) nodes.remove(at);
        }
    }
    return alternatives;
}

DeviceNeed& need_of(std::vector<DeviceNeed>& needs, const Index& index, const std::string& path) {
    const auto found = std::ranges::find(needs, path, &DeviceNeed::class_path);
    if (found != needs.end()) return *found;
    DeviceNeed& added = needs.emplace_back();
    added.class_path = path;
    for (std::size_t column = 0; column < index.columns().size(); ++column) {
        if (model::is_of_class(index.columns()[column], path))
            added.columns.push_back(static_cast<std::uint16_t>(column));
    }
    return added;
}

/// Specific classes choose first, so that a request for any of them takes what is left.
std::vector<DeviceNeed> device_needs(const Index& index, const model::TaskGroup& group) {
    std::vector<DeviceNeed> needs;
    const auto add = [&](const model::Resources& resources, std::int64_t DeviceNeed::*amount) {
        for (const model::DeviceRequest& device : resources.devices)
            need_of(needs, index, device.class_path).*amount += device.count;
    };
    add(group.per_member, &DeviceNeed::per_member);
    add(group.per_node, &DeviceNeed::per_node);
    add(group.total, &DeviceNeed::total);
    std::ranges::stable_sort(needs, [](const DeviceNeed& a, const DeviceNeed& b) {
        return std::ranges::count(a.class_path, '/') > std::ranges::count(b.class_path, '/');
    });
    return needs;
}

std::string unsupported_part(const model::TaskGroup& group) {
    for (const model::Resources* part : {&group.per_member, &group.per_node, &group.total}) {
        for (const model::DeviceRequest& device : part->devices) {
            if (device.share_milli != 0 && device.share_milli != 1000)
                return "shares of a device (" + device.class_path + ")";
        }
    }
    for (const model::Affinity& affinity : group.where.affinity) {
        if (affinity.required) return "required affinity between workloads";
    }
    return {};
}

}  // namespace

Request resolve(const Index& index, const model::WorkloadSpec& spec, std::uint32_t partition) {
    const model::Partition& part = index.config().partitions[partition];
    Request request;
    request.uid = spec.uid;
    request.min_members = spec.min_members;
    for (const model::TaskGroup& group : spec.groups) {
        GroupNeed need;
        need.group = &group;
        need.number = static_cast<std::uint32_t>(request.groups.size());
        need.exclusive_cpus = spec.door == model::Door::Slurm;
        need.share = part.exclusive_node ? model::Share::WholeNode : group.share;
        need.take_all = group.take_all;
        if (part.exclusive_node) need.take_all.cpus = need.take_all.devices = true;
        need.ignore_memory = !index.config().limits.memory_is_consumable;
        need.cpu_milli_max = std::int64_t{1000} * part.cpus_per_node_max.value_or(0);
        need.devices = device_needs(index, group);
        need.allowed = allowed_nodes(index, group.where, index.partition_nodes()[partition]);
        for (const std::string& name : group.where.include)
            need.include.push_back(index.find_node(name));
        if (request.unsupported.empty()) request.unsupported = unsupported_part(group);
        request.groups.push_back(std::move(need));
    }
    return request;
}

}  // namespace twinyard::sched
