#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/slurm_conf.h"

namespace twinyard::config {

/// The version of Slurm whose behaviour we follow, for tools that ask.
inline constexpr std::string_view kSlurmVersion = "26.05.0";

/// What `show config` tells beside the file: times as they are to be printed.
struct RunningFacts {
    std::string host_name;
    std::string boot_time;
    std::string slurm_conf;
    std::uint64_t next_job_id = 0;  ///< 0: not known, not shown.
};

/// Every row of `scontrol show config`, in Slurm's order. Values that the file gives and that have
/// no effect are shown as written.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> config_rows(
    const SlurmConf& conf, const RunningFacts& facts);

/// The rows as Slurm aligns them: the key padded to 23 columns, then "= value". Ends with a line
/// break.
[[nodiscard]] std::string render_config(const SlurmConf& conf, const RunningFacts& facts);

}  // namespace twinyard::config
