#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_text.h"
#include "config/entries.h"
#include "model/cluster_config.h"

namespace twinyard::config {

enum class OverSubscribe : std::uint8_t { No, Exclusive, Yes, Force };

/// One PartitionName line, defaults applied.
struct PartitionLine {
    std::string file;
    std::size_t line = 0;
    std::string name;
    bool all_nodes = false;          ///< Nodes=ALL.
    std::vector<std::string> nodes;  ///< Node sets resolved, each name once, in the order written.
    std::string nodes_text;

    bool is_default = false;
    Seconds max_time = kUnlimited;
    std::optional<Seconds> default_time;
    std::uint32_t min_nodes = 0;
    std::optional<std::uint32_t> max_nodes;
    std::optional<std::uint32_t> max_cpus_per_node;
    std::string qos;
    std::uint32_t priority_job_factor = 1;
    std::uint32_t priority_tier = 1;
    model::PartitionState state = model::PartitionState::Up;
    model::MemoryRule memory_default, memory_max;
    std::optional<std::uint32_t> cpus_per_gpu_default;
    OverSubscribe over_subscribe = OverSubscribe::No;
    bool exclusive_node = false;  ///< Exclusive=NODE.
    bool exclusive_user = false;
    bool hidden = false;
    bool root_only = false;
    bool req_resv = false;
    Seconds grace_time{0};
    std::string preempt_mode;
    std::optional<Seconds> over_time_limit;  ///< None: the cluster's.
    std::vector<std::string> allow_accounts, allow_groups, allow_qos, deny_accounts, deny_qos;
    std::vector<std::string> alloc_nodes;
    std::string tres_billing_weights;
};

[[nodiscard]] std::span<const Entry<PartitionLine>> partition_table();

}  // namespace twinyard::config
