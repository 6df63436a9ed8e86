#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/node.h"

namespace twinyard::model {

enum class PartitionState : std::uint8_t { Up, Down, Drain, Inactive };

/// Default and maximum memory: of a node, or of each cpu or GPU. At most one is set.
struct MemoryRule {
    std::optional<std::int64_t> per_node, per_cpu, per_gpu;  ///< Bytes.
    friend bool operator==(const MemoryRule&, const MemoryRule&) = default;
};

/// Who may use which nodes under what limits.
struct Partition {
    std::string name;
    bool all_nodes = false;
    std::vector<std::string> nodes;  ///< In the order of the configuration; empty with all_nodes.
    bool is_default = false;
    bool hidden = false;
    bool root_only = false;
    PartitionState state = PartitionState::Up;
    std::optional<Millis> time_max;  ///< None: no limit.
    std::optional<Millis> time_default;
    std::uint32_t nodes_min = 0;
    std::optional<std::uint32_t> nodes_max;
    std::optional<std::uint32_t> cpus_per_node_max;
    std::uint32_t tier = 1;
    std::uint32_t job_factor = 1;
    std::string qos;
    MemoryRule memory_default, memory_max;
    std::optional<std::uint32_t> cpus_per_gpu_default;
    bool exclusive_node = false;
    std::vector<std::string> allow_groups, allow_accounts, deny_accounts, allow_qos, deny_qos;
    friend bool operator==(const Partition&, const Partition&) = default;
};

struct Qos {
    std::string name;
    std::uint32_t priority = 0;
    friend bool operator==(const Qos&, const Qos&) = default;
};

/// A node as the configuration declares it. What is absent is filled in from the agent.
struct NodeDeclaration {
    std::string name;
    std::string address;
    std::optional<std::int64_t> memory_bytes;
    std::optional<std::uint32_t> cpus, sockets, cores_per_socket, threads_per_core;
    std::vector<Device> devices;
    std::vector<std::string> features;
    std::uint32_t weight = 1;
    bool emulated = false;
    bool drain = false, down = false;
    std::string reason;
    friend bool operator==(const NodeDeclaration&, const NodeDeclaration&) = default;
};

/// Weights of the multifactor score; 0 leaves a factor out.
struct PriorityPolicy {
    bool fifo = false;     ///< Order of submission; no weights.
    bool backfill = true;  ///< Lower ones may start before the reserved start of higher ones.
    std::uint32_t weight_age = 0, weight_job_size = 0, weight_partition = 0, weight_qos = 0;
    Millis age_max{Seconds{7 * 24 * 3600}};
    bool favor_small = false;
    std::uint32_t reservations = 1;    ///< How many top jobs get a reserved start in a pass.
    std::uint32_t backfill_tests = 0;  ///< Most jobs looked at behind the first that waits; 0: all.
    friend bool operator==(const PriorityPolicy&, const PriorityPolicy&) = default;
};

struct Limits {
    std::uint32_t jobs_max = 1'000'000;
    std::uint32_t first_job_id = 1;
    std::uint32_t max_job_id = 0x03ff0000;
    std::uint32_t requeue_max = 5;  ///< Launch failures in a row before it is held.
    Seconds min_job_age{300};
    Seconds kill_wait{30};
    Seconds node_silent_after{50};
    Seconds node_lost_after{300};                       ///< SlurmdTimeout.
    std::optional<Millis> over_time_limit = Millis{0};  ///< None: never ends a job for its limit.
    bool requeue_default = true;
    bool append_output_default = false;
    bool memory_is_consumable = true;  ///< CR_*_Memory.
    bool enforce_partition_limits = false;
    MemoryRule memory_default, memory_max;
    std::uint32_t return_to_service = 0;
    Seconds requeue_delay{0};
    friend bool operator==(const Limits&, const Limits&) = default;
};

/// Everything the site says. Immutable; a reconfiguration replaces it whole.
struct ClusterConfig {
    std::string cluster_name = "twinyard";
    std::vector<NodeDeclaration> nodes;
    bool nodes_may_join = true;  ///< Without a file: agents bring their nodes with them.
    std::vector<Partition> partitions;
    std::vector<Qos> qos;
    PriorityPolicy priority;
    Limits limits;
    friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};
using ClusterConfigPtr = std::shared_ptr<const ClusterConfig>;

/// Null if there is none of that name.
[[nodiscard]] const Partition* find_partition(const ClusterConfig& config, std::string_view name);
[[nodiscard]] const Qos* find_qos(const ClusterConfig& config, std::string_view name);
/// The limit a workload without its own gets there: the partition's default, else its maximum;
/// none: no end.
[[nodiscard]] std::optional<Millis> default_limit(const Partition& partition);

}  // namespace twinyard::model
