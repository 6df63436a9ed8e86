#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::slurm {

inline constexpr std::size_t kScriptMax = std::size_t{4} << 20;  ///< max_script_size.

/// Is this a batch script? Errors: the lines sbatch prints after `sbatch: error: ` (one or more,
/// separated by \n): empty, no `#!`, DOS line breaks, NUL bytes, larger than kScriptMax.
[[nodiscard]] Status check_batch_script(std::string_view script);

/// The arguments of one `#SBATCH` line.
struct Directive {
    std::size_t line = 0;  ///< From 1.
    std::vector<std::string> arguments;
    friend bool operator==(const Directive&, const Directive&) = default;
};

/// The `#SBATCH` lines before the first command. Blanks split arguments, quotes and backslashes
/// hold them together, `#` after a blank begins a comment. InvalidArgument: an open quote.
[[nodiscard]] Result<std::vector<Directive>> batch_directives(std::string_view script);

/// The script that --wrap makes of a command.
[[nodiscard]] std::string wrap_script(std::string_view command);

}  // namespace twinyard::slurm
