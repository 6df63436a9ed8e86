#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twinyard::slurm {

inline constexpr std::string_view kDefaultOutput = "slurm-%j.out";

/// What a pattern may name. Without a step: the batch script.
struct PatternFacts {
    std::uint32_t job = 0;
    std::optional<std::uint32_t> array_job, array_task;
    std::optional<std::uint32_t> step;
    std::string_view node;  ///< Short host name.
    std::uint32_t node_index = 0;
    std::uint32_t task = 0;
    std::uint32_t restarts = 0;
    std::string_view user, job_name;
};

/// The file name of a pattern of -o, -e, -i; relative ones stay relative. A `\` in it turns
/// substitution off and is left out itself. Unknown letters stay as they are.
[[nodiscard]] std::string expand_file_pattern(std::string_view pattern, const PatternFacts& facts);

/// Does each task (`%t`), or each node (`%N`, `%n`), have a file of its own?
[[nodiscard]] bool is_per_task(std::string_view pattern);
[[nodiscard]] bool is_per_node(std::string_view pattern);

}  // namespace twinyard::slurm
