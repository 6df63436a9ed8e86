#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "step/shell/job.h"

namespace twinyard::step {

/// Whose file a pattern names: the batch script's, or a task's of a step.
struct StreamOwner {
    std::optional<std::uint32_t> step;
    std::uint32_t node_index = 0;
    std::uint32_t task = 0;
    std::string_view work_dir;
};

/// The absolute path that a pattern of -o, -e, -i means; relative ones start at the working
/// directory, at /tmp when that is not there.
[[nodiscard]] std::string resolve_pattern(const Job& job,
                                          std::string_view pattern,
                                          const StreamOwner& owner);

/// Opens an output file as the user; folders that are missing are made as the user. Every write
/// goes to the end, so that several openings of a file do not overwrite one another.
[[nodiscard]] Result<os::Fd> open_output(const Job& job,
                                         const std::string& path,
                                         bool truncate,
                                         std::uint32_t umask);

[[nodiscard]] Result<os::Fd> open_input(const Job& job, const std::string& path);

}  // namespace twinyard::step
