#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/entries.h"
#include "model/cluster_config.h"

namespace twinyard::config {

struct ControllerHost {
    std::string name;
    std::string address;  ///< Empty: the name.
    friend bool operator==(const ControllerHost&, const ControllerHost&) = default;
};

enum class EnforceLimits : std::uint8_t { No, Any, All };

/// The lines of slurm.conf that are neither node nor partition, typed where something follows from
/// them. The defaults are Slurm's.
struct Parameters {
    std::string cluster_name = "twinyard";
    std::vector<ControllerHost> controllers;

    std::uint32_t max_job_count = 10'000;
    std::uint32_t max_array_size = 1'001;
    std::uint32_t first_job_id = 1;
    std::uint32_t max_job_id = 0x03ff0000;
    std::uint32_t max_step_count = 40'000;
    std::uint32_t max_batch_requeue = 5;
    EnforceLimits enforce_part_limits = EnforceLimits::No;
    bool job_requeue = true;
    bool job_file_append = false;
    bool kill_on_bad_exit = false;
    Seconds over_time_limit{0};  ///< kUnlimited: never ended for its limit.
    std::uint32_t return_to_service = 0;

    Seconds min_job_age{300};
    Seconds kill_wait{30};
    Seconds slurmd_timeout{300};
    Seconds slurmctld_timeout{120};
    Seconds message_timeout{10};
    Seconds batch_start_timeout{10};
    Seconds inactive_limit{0};

    bool backfill = true;  ///< SchedulerType.
    /// SchedulerParameters by option; a flag has an empty value.
    std::map<std::string, std::string> scheduler_parameters;
    std::string select_type = "select/cons_tres";
    std::vector<std::string> select_type_parameters = {"CR_CORE_MEMORY"};

    bool multifactor = true;  ///< PriorityType; false is priority/basic: order of submission.
    std::uint32_t priority_weight_age = 0;
    std::uint32_t priority_weight_assoc = 0;
    std::uint32_t priority_weight_fairshare = 0;
    std::uint32_t priority_weight_job_size = 0;
    std::uint32_t priority_weight_partition = 0;
    std::uint32_t priority_weight_qos = 0;
    Seconds priority_max_age{7 * 86400};
    bool priority_favor_small = false;
    std::vector<std::string> priority_flags;

    model::MemoryRule memory_default, memory_max;
    std::optional<std::uint32_t> cpus_per_gpu_default;

    std::vector<std::string> gres_types;
    std::vector<std::string> propagate_limits;  ///< Empty: all, unless an exception is named.
    std::vector<std::string> propagate_limits_except;
    std::string accounting_storage_type = "accounting_storage/slurmdbd";
    std::vector<std::string> accounting_storage_tres;
    std::vector<std::string> prolog, epilog;
    std::vector<std::string> task_plugins;
    std::string proctrack_type;
    std::string srun_port_range;
};

/// Every parameter of current Slurm.
[[nodiscard]] std::span<const Entry<Parameters>> parameter_table();

/// True for the CR_*_Memory settings.
[[nodiscard]] bool memory_is_consumable(const Parameters& parameters);

/// The value of one SchedulerParameters option as a number in [min, max]; `fallback` when absent or
/// malformed (which reading has reported).
[[nodiscard]] std::int64_t scheduler_number(const Parameters& parameters,
                                            std::string_view option,
                                            std::int64_t fallback,
                                            std::int64_t min,
                                            std::int64_t max);

}  // namespace twinyard::config
