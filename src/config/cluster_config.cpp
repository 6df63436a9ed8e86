#include "config/cluster_config.h"

#include <algorithm>
#include <array>
#include <map>

namespace twinyard::config {

namespace {

using model::ClusterConfig;
using model::Device;
using model::NodeDeclaration;
using model::Partition;

constexpr Seconds kNever{std::int64_t{100} * 365 * 86400};

std::optional<Millis> limited(Seconds limit) {
    if (limit == kUnlimited) return std::nullopt;
    return Millis{limit};
}

std::vector<Device> devices_of(const SlurmConf& conf,
                               const NodeLine& line,
                               const std::string& node) {
    std::vector<Device> devices;
    for (const GresItem& item : line.gres) {
        if (item.count > kDevicesMax) continue;  // validate() has said so.
        const std::vector<std::string> files = conf.gres.files_of(node, item.name, item.type);
        for (std::int64_t i = 0; i < item.count; ++i) {
            Device device;
            device.class_path = item.type.empty() ? item.name : item.name + "/" + item.type;
            const auto at = static_cast<std::size_t>(i);
            if (at < files.size()) device.path = files[at];
            devices.push_back(std::move(device));
        }
    }
    return devices;
}

void apply_state(NodeDeclaration& node, NodeState state, const std::string& reason) {
    if (state == NodeState::Unknown) return;
    node.down = state == NodeState::Down;
    node.drain = state == NodeState::Drain || state == NodeState::Fail;
    if (!reason.empty()) node.reason = reason;
}

NodeDeclaration declare(const SlurmConf& conf, const NodeLine& line, std::size_t at) {
    NodeDeclaration node;
    node.name = line.names[at];
    node.address = line.addresses.empty() ? node.name : line.addresses[at];
    if (line.real_memory_mb) node.memory_bytes = *line.real_memory_mb * kMiB;
    node.sockets = line.sockets;
    node.cores_per_socket = line.cores_per_socket;
    node.threads_per_core = line.threads_per_core;
    node.cpus = line.cpus;
    const bool has_shape = line.sockets || line.cores_per_socket;
    if (!node.cpus && has_shape) {
        node.cpus = line.sockets.value_or(1) * line.cores_per_socket.value_or(1) *
                    line.threads_per_core.value_or(1);
    }
    node.devices = devices_of(conf, line, node.name);
    node.features = line.features;
    node.weight = line.weight;
    apply_state(node, line.state, line.reason);
    return node;
}

std::vector<NodeDeclaration> declarations(const SlurmConf& conf) {
    std::vector<NodeDeclaration> nodes;
    for (const NodeLine& line : conf.nodes) {
        // A future node is not there yet: Slurm shows it to nobody.
        if (line.state == NodeState::Future) continue;
        for (std::size_t i = 0; i < line.names.size(); ++i)
            nodes.push_back(declare(conf, line, i));
    }
    std::map<std::string, NodeDeclaration*> by_name;
    for (NodeDeclaration& node : nodes)
        by_name[node.name] = &node;
    for (const DownNodesLine& down : conf.down_nodes) {
        for (const std::string& name : down.nodes) {
            const auto found = by_name.find(name);
            if (found != by_name.end()) apply_state(*found->second, down.state, down.reason);
        }
    }
    return nodes;
}

Partition partition_of(const SlurmConf& conf, const PartitionLine& line) {
    Partition partition;
    partition.name = line.name;
    partition.all_nodes = line.all_nodes;
    partition.nodes = line.nodes;
    partition.is_default = line.is_default;
    partition.hidden = line.hidden;
    partition.root_only = line.root_only;
    partition.state = line.state;
    partition.time_max = limited(line.max_time);
    if (line.default_time) partition.time_default = limited(*line.default_time);
    partition.nodes_min = line.min_nodes;
    partition.nodes_max = line.max_nodes;
    // Zero is Slurm's way to say "no limit" here.
    if (line.max_cpus_per_node.value_or(0) > 0)
        partition.cpus_per_node_max = line.max_cpus_per_node;
    partition.tier = line.priority_tier;
    partition.job_factor = line.priority_job_factor;
    partition.qos = line.qos;
    partition.memory_default = line.memory_default;
    partition.memory_max = line.memory_max;
    partition.cpus_per_gpu_default = line.cpus_per_gpu_default
                                         ? line.cpus_per_gpu_default
                                         : conf.parameters.cpus_per_gpu_default;
    partition.exclusive_node =
        line.exclusive_node || line.over_subscribe == OverSubscribe::Exclusive;
    partition.allow_groups = line.allow_groups;
    partition.allow_accounts = line.allow_accounts;
    partition.deny_accounts = line.deny_accounts;
    partition.allow_qos = line.allow_qos;
    partition.deny_qos = line.deny_qos;
    return partition;
}

void add_qos(std::vector<model::Qos>& all, const std::string& name, std::uint32_t priority) {
    const auto found = std::ranges::find(all, name, &model::Qos::name);
    if (found == all.end()) {
        all.push_back({name, priority});
    } else {
        found->priority = priority;
    }
}

std::vector<model::Qos> qos_of(const SlurmConf* conf, const TwinyardYaml& yaml) {
    std::vector<model::Qos> all;
    add_qos(all, "normal", 0);
    if (conf != nullptr) {
        for (const PartitionLine& line : conf->partitions) {
            if (!line.qos.empty()) add_qos(all, line.qos, 0);
            for (const std::string& name : line.allow_qos)
                add_qos(all, name, 0);
        }
    }
    for (const QosEntry& entry : yaml.qos)
        add_qos(all, entry.name, entry.priority);
    return all;
}

model::PriorityPolicy priority_of(const Parameters& p) {
    model::PriorityPolicy policy;
    policy.fifo = !p.multifactor;
    policy.backfill = p.backfill;
    policy.weight_age = p.priority_weight_age;
    policy.weight_job_size = p.priority_weight_job_size;
    policy.weight_partition = p.priority_weight_partition;
    policy.weight_qos = p.priority_weight_qos;
    policy.age_max = p.priority_max_age;
    policy.favor_small = p.priority_favor_small;
    policy.backfill_tests =
        static_cast<std::uint32_t>(scheduler_number(p, "bf_max_job_test", 0, 0, 1'000'000));
    return policy;
}

model::Limits limits_of(const Parameters& p) {
    model::Limits limits;
    limits.jobs_max = p.max_job_count;
    limits.first_job_id = p.first_job_id;
    limits.max_job_id = p.max_job_id;
    limits.requeue_max = p.max_batch_requeue;
    limits.min_job_age = p.min_job_age;
    limits.kill_wait = p.kill_wait;
    // Zero: a silent node is never given up.
    limits.node_lost_after = p.slurmd_timeout.count() == 0 ? kNever : p.slurmd_timeout;
    limits.node_silent_after = std::min(limits.node_silent_after, limits.node_lost_after);
    limits.over_time_limit = limited(p.over_time_limit);
    limits.requeue_default = p.job_requeue;
    limits.append_output_default = p.job_file_append;
    limits.memory_is_consumable = memory_is_consumable(p);
    limits.enforce_partition_limits = p.enforce_part_limits != EnforceLimits::No;
    limits.memory_default = p.memory_default;
    limits.memory_max = p.memory_max;
    limits.return_to_service = p.return_to_service;
    limits.requeue_delay = Seconds{scheduler_number(p, "requeue_delay", 0, 0, 1'000'000)};
    return limits;
}

/// The presets of `policy:`. Fair share will carry most of `research`; until then it is age.
struct Preset {
    std::string_view name;
    std::uint32_t age, job_size, partition, qos;
    bool favor_small;
};
constexpr auto kPresets = std::to_array<Preset>({
    {"research", 10'000, 0, 1'000, 1'000, false},
    {"enterprise", 1'000, 0, 5'000, 10'000, false},
    {"throughput", 1'000, 10'000, 1'000, 1'000, true},
});

/// Weights that slurm.conf gives itself are the site's word: then the preset changes nothing.
void apply_preset(model::PriorityPolicy& policy, const TwinyardYaml& yaml, const SlurmConf* conf) {
    const auto preset = std::ranges::find(kPresets, yaml.policy, &Preset::name);
    if (preset == kPresets.end()) return;
    const bool has_weights =
        conf != nullptr && std::ranges::any_of(conf->given, [](const auto& item) {
            return item.first.starts_with("PriorityWeight") || item.first == "PriorityType";
        });
    if (has_weights) return;
    policy.weight_age = preset->age;
    policy.weight_job_size = preset->job_size;
    policy.weight_partition = preset->partition;
    policy.weight_qos = preset->qos;
    policy.favor_small = preset->favor_small;
}

}  // namespace

model::ClusterConfig cluster_config(const SlurmConf& conf, const TwinyardYaml& yaml) {
    ClusterConfig config;
    config.cluster_name = conf.parameters.cluster_name;
    config.nodes = declarations(conf);
    config.nodes_may_join = false;
    for (const PartitionLine& line : conf.partitions) {
        config.partitions.push_back(partition_of(conf, line));
    }
    config.qos = qos_of(&conf, yaml);
    config.priority = priority_of(conf.parameters);
    config.limits = limits_of(conf.parameters);
    apply_preset(config.priority, yaml, &conf);
    return config;
}

model::ClusterConfig cluster_config(const TwinyardYaml& yaml) {
    ClusterConfig config;
    Partition partition;
    partition.name = "main";
    partition.all_nodes = true;
    partition.is_default = true;
    config.partitions.push_back(std::move(partition));
    config.qos = qos_of(nullptr, yaml);
    apply_preset(config.priority, yaml, nullptr);
    return config;
}

}  // namespace twinyard::config
