// Listing rows of nodes and partitions.
#include <algorithm>
#include <bit>

#include "base/duration_text.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/tres.h"
#include "slurm/rows.h"
#include "slurm/tres_text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

using api::NodeRow;
using api::PartitionRow;
using model::Node;
using model::NodeLink;
using model::NodeUse;
using model::Partition;
using model::Snapshot;

std::int64_t mega(std::int64_t bytes) {
    return (bytes + kMiB - 1) / kMiB;
}

std::uint32_t bits_of(const std::vector<std::uint64_t>& words) {
    int count = 0;
    for (const std::uint64_t word : words)
        count += std::popcount(word);
    return static_cast<std::uint32_t>(count);
}

std::vector<std::uint16_t> indexes_of(const std::vector<std::uint64_t>& words) {
    std::vector<std::uint16_t> indexes;
    for (std::size_t i = 0; i < words.size() * 64; ++i) {
        if ((words[i / 64] >> (i % 64) & 1) != 0) indexes.push_back(static_cast<std::uint16_t>(i));
    }
    return indexes;
}

std::string_view use_word(const NodeRow& row, const NodeUse& use) {
    if (use.grants == 0) return "IDLE";
    const bool full = use.whole_node > 0 || row.cpus_alloc >= row.cpus;
    return full ? "ALLOCATED" : "MIXED";
}

void set_state(NodeRow& row, const Node& node, const NodeUse& use) {
    row.no_agent = node.link == NodeLink::NoAgent;
    row.no_respond = node.link != NodeLink::Responding;
    row.drain = node.drain;
    row.down = node.down || row.no_agent || node.link == NodeLink::Lost;
    row.completing = use.completing > 0;
    row.base_state = row.down ? "DOWN" : use_word(row, use);
    row.reason = node.reason;
    if (row.reason.empty() && row.no_agent) row.reason = "no agent";
    if (row.reason.empty() && node.link == NodeLink::Lost) row.reason = "Not responding";
    row.state = node_state_flags(row);
}

std::string features_of(const Node& node) {
    std::vector<std::string> features;
    for (const auto& [name, value] : node.labels) {
        if (value.empty()) features.push_back(name);
    }
    return join(features, ",");
}

/// Every class of the node, the idle ones as "gpu:h100:0(IDX:N/A)".
std::string used_gres(const std::vector<model::Device>& devices,
                      const std::vector<std::uint16_t>& used) {
    if (!used.empty() || devices.empty()) return granted_gres(devices, used);
    std::string text;
    for (const std::string_view entry : split(gres_text(devices), ',')) {
        if (!text.empty()) text += ',';
        text += std::string(entry.substr(0, entry.rfind(':'))) + ":0(IDX:N/A)";
    }
    return text;
}

void count_devices(model::Amounts& amounts, const std::vector<model::Device>& devices) {
    for (const model::Device& device : devices)
        ++amounts.devices[std::string(model::class_root(device.class_path))];
}

std::string configured_tres(const NodeRow& row, const std::vector<model::Device>& devices) {
    model::Amounts amounts;
    amounts.cpus = row.cpus;
    amounts.memory_bytes = row.memory_mb * kMiB;
    count_devices(amounts, devices);
    return model::amounts_text(amounts);
}

void set_use(NodeRow& row, const Node& node, const NodeUse& use) {
    const auto by_share =
        static_cast<std::uint32_t>(std::max<std::int64_t>(use.cpu_milli, 0) + 999);
    row.cpus_alloc = std::min(std::max(by_share / 1000, bits_of(use.cpus)), row.cpus);
    row.memory_alloc_mb = mega(use.memory_bytes);
    const std::vector<std::uint16_t> used = indexes_of(use.devices);
    row.gres_used = used_gres(node.capacity.devices, used);
    if (use.grants == 0) return;
    model::Amounts amounts;
    amounts.cpus = row.cpus_alloc;
    amounts.memory_bytes = use.memory_bytes;
    for (const std::uint16_t index : used) {
        if (index >= node.capacity.devices.size()) continue;
        ++amounts.devices[std::string(model::class_root(node.capacity.devices[index].class_path))];
    }
    row.alloc_tres = model::amounts_text(amounts);
    // As in Slurm a node says its billing in CfgTRES alone.
    const std::size_t billing = row.alloc_tres.find(",billing=");
    if (billing != std::string::npos)
        row.alloc_tres.erase(billing, row.alloc_tres.find(',', billing + 1) - billing);
}

std::string_view state_word(model::PartitionState state) {
    switch (state) {
        case model::PartitionState::Up:
            return "UP";
        case model::PartitionState::Down:
            return "DOWN";
        case model::PartitionState::Drain:
            return "DRAIN";
        case model::PartitionState::Inactive:
            return "INACTIVE";
    }
    return "UP";
}

std::int64_t seconds_or(const std::optional<Millis>& time, std::int64_t none) {
    return time ? std::chrono::duration_cast<Seconds>(*time).count() : none;
}

std::int64_t mega_or_none(const std::optional<std::int64_t>& bytes) {
    return bytes ? mega(*bytes) : std::int64_t{-1};
}

std::string list_or(const std::vector<std::string>& list, std::string_view none) {
    return list.empty() ? std::string(none) : join(list, ",");
}

void set_totals(PartitionRow& row, const Snapshot& snapshot) {
    std::vector<std::string_view> names(row.node_names.begin(), row.node_names.end());
    std::ranges::sort(names);
    model::Amounts amounts;
    snapshot.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        if (!std::ranges::binary_search(names, std::string_view(node->name))) return;
        amounts.cpus += node->capacity.cpus;
        amounts.memory_bytes += node->capacity.memory_bytes;
        count_devices(amounts, node->capacity.devices);
    });
    row.total_nodes = static_cast<std::uint32_t>(row.node_names.size());
    row.total_cpus = static_cast<std::uint32_t>(amounts.cpus);
    amounts.nodes = row.total_nodes;
    row.tres = model::amounts_text(amounts);
}

}  // namespace

PartitionNames partition_names(const Snapshot& snapshot) {
    PartitionNames names;
    if (snapshot.config == nullptr) return names;
    for (const Partition& partition : snapshot.config->partitions) {
        for (const std::string& node : partition_nodes(snapshot, partition)) {
            std::string& list = names[node];
            if (!list.empty()) list += ',';
            list += partition.name;
        }
    }
    return names;
}

NodeRow make_node_row(const Snapshot& snapshot,
                      const PartitionNames& partitions,
                      const Node& node,
                      bool planned) {
    static const NodeUse kNothing;
    const NodeUse* found = snapshot.uses.find(node.id.value());
    const NodeUse& use = found == nullptr ? kNothing : *found;
    NodeRow row;
    row.name = node.name;
    row.address = node.address.empty() ? node.name : node.address;
    row.host_name = node.facts.host_name.empty() ? node.name : node.facts.host_name;
    row.os = node.facts.os;
    row.arch = node.facts.arch;
    row.version = node.facts.version;
    row.tracking = node.facts.process_tracking;
    row.notes = node.facts.notes;
    row.boards = node.capacity.boards;
    row.sockets = node.capacity.sockets;
    row.cores_per_socket = node.capacity.cores_per_socket;
    row.threads_per_core = node.capacity.threads_per_core;
    row.cpus = node.capacity.cpus;
    row.memory_mb = node.capacity.memory_bytes / kMiB;
    row.tmp_disk_mb = node.capacity.tmp_disk_bytes / kMiB;
    row.weight = node.weight;
    row.emulated = node.emulated;
    row.features = features_of(node);
    row.gres = gres_text(node.capacity.devices);
    row.cfg_tres = configured_tres(row, node.capacity.devices);
    set_use(row, node, use);
    row.planned = planned && use.grants == 0;
    set_state(row, node, use);
    const auto listed = partitions.find(node.name);
    if (listed != partitions.end()) row.partitions = listed->second;
    row.reason_uid = node.reason_uid;
    row.reason_ms = node.reason_time.time_since_epoch().count();
    row.boot_ms = node.facts.boot_time.time_since_epoch().count();
    row.agent_start_ms = node.facts.agent_start.time_since_epoch().count();
    return row;
}

std::vector<std::string> partition_nodes(const Snapshot& snapshot, const Partition& partition) {
    if (!partition.all_nodes) return partition.nodes;
    std::vector<std::string> names;
    snapshot.nodes.for_each(
        [&](std::uint64_t, const model::NodePtr& node) { names.push_back(node->name); });
    return names;
}

PartitionRow make_partition_row(const Snapshot& snapshot, const Partition& partition) {
    PartitionRow row;
    row.name = partition.name;
    row.node_names = partition_nodes(snapshot, partition);
    row.nodes = fold_hostlist(row.node_names);
    row.state = state_word(partition.state);
    row.qos = partition.qos;
    row.is_default = partition.is_default;
    row.hidden = partition.hidden;
    row.root_only = partition.root_only;
    row.exclusive = partition.exclusive_node;
    row.time_max_s = seconds_or(partition.time_max, -1);
    row.time_default_s = seconds_or(partition.time_default, -2);
    row.nodes_min = partition.nodes_min;
    row.nodes_max = partition.nodes_max ? std::int64_t{*partition.nodes_max} : std::int64_t{-1};
    row.cpus_per_node_max =
        partition.cpus_per_node_max ? std::int64_t{*partition.cpus_per_node_max} : std::int64_t{-1};
    row.tier = partition.tier;
    row.job_factor = partition.job_factor;
    row.def_mem_per_node_mb = mega_or_none(partition.memory_default.per_node);
    row.def_mem_per_cpu_mb = mega_or_none(partition.memory_default.per_cpu);
    row.max_mem_per_node_mb = mega_or_none(partition.memory_max.per_node);
    row.max_mem_per_cpu_mb = mega_or_none(partition.memory_max.per_cpu);
    row.allow_groups = list_or(partition.allow_groups, "ALL");
    row.allow_accounts = list_or(partition.allow_accounts, "ALL");
    row.allow_qos = list_or(partition.allow_qos, "ALL");
    row.deny_accounts = list_or(partition.deny_accounts, "");
    row.deny_qos = list_or(partition.deny_qos, "");
    row.oversubscribe = partition.exclusive_node ? "EXCLUSIVE" : "NO";
    set_totals(row, snapshot);
    return row;
}

}  // namespace twinyard::slurm
