#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/slurm.h"
#include "base/result.h"
#include "cli/environment.h"
#include "cli/option_table.h"
#include "cli/output.h"

namespace twinyard::cli {

/// What the options of a command that makes a job say. Later settings win over earlier ones.
struct JobOptions {
    JobOptions(const Environment& with, Output& to) : environment(with), output(to) {}

    const Environment& environment;
    Output& output;
    api::JobRequest job;
    std::optional<std::string> wrap;
    std::string chdir;
    std::optional<std::string> propagate;  ///< ALL, NONE or a list.
    bool parsable = false, wait = false, quiet = false;
    std::uint32_t verbose = 0;

    /// The memory options of one source (a command line, the environment, the script) exclude each
    /// other; across sources the later one wins.
    enum Memory : std::uint8_t { PerNode = 1, PerCpu = 2, PerGpu = 4 };
    std::uint8_t memory_given = 0;
    /// Begins the next source.
    void begin_source() { memory_given = 0; }
    /// An error is text for after "sbatch: fatal: ".
    [[nodiscard]] Status check_source() const;
};

/// The soft limits that --propagate lets travel.
[[nodiscard]] Result<std::vector<model::ProcessLimit>> propagated_limits(
    const std::vector<model::ProcessLimit>& limits, std::string_view propagate);

// Setters of JobOptions, for the tables of sbatch and (later) salloc and srun.
Status set_nodes(JobOptions& options, OptionValue value);
Status set_time(JobOptions& options, OptionValue value);
Status set_memory(JobOptions& options, OptionValue value);
Status set_memory_per_cpu(JobOptions& options, OptionValue value);
Status set_memory_per_gpu(JobOptions& options, OptionValue value);
Status set_begin(JobOptions& options, OptionValue value);
Status set_nice(JobOptions& options, OptionValue value);
Status set_priority(JobOptions& options, OptionValue value);
Status set_exclusive(JobOptions& options, OptionValue value);
Status set_open_mode(JobOptions& options, OptionValue value);
Status set_signal(JobOptions& options, OptionValue value);
Status set_requeue(JobOptions& options, OptionValue value);
Status set_export(JobOptions& options, OptionValue value);
Status set_switches(JobOptions& options, OptionValue value);
Status set_propagate(JobOptions& options, OptionValue value);

/// "2", "2-4", "1k" as a range of node counts; the same number twice for one. Errors have Slurm's
/// text.
struct NodeRange {
    std::uint32_t min = 0, max = 0;
};
[[nodiscard]] Result<NodeRange> parse_node_range(std::string_view text);

/// Megabytes of a memory option, rounded up; 0 stays 0.
[[nodiscard]] Result<std::int64_t> parse_megabytes(std::string_view text);

}  // namespace twinyard::cli
