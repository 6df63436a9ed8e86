#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/agent.h"

/// What the step daemon says to users, word for word as Slurm's does: people and tools look for it.
namespace twinyard::step {

/// "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE TO TIME LIMIT ***\n";
/// `what` is "JOB 17" or "STEP 17.0", `when` local time.
[[nodiscard]] std::string ending_line(std::string_view what,
                                      std::string_view node,
                                      std::string_view when,
                                      api::StopReason reason);

/// `step` is "17.batch" or "17.0".
[[nodiscard]] std::string oom_line(std::uint64_t kills, std::string_view step);

/// "slurmstepd: error: execve(): nosuch: No such file or directory\n"
[[nodiscard]] std::string exec_line(std::string_view program, std::string_view why);

}  // namespace twinyard::step
