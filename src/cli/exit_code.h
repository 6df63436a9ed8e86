#pragma once

namespace twinyard::cli {

/// What a command's process ends with. `sbatch --wait` and srun end with what the job said.
using ExitCode = int;
inline constexpr ExitCode kOk = 0;
inline constexpr ExitCode kFailed = 1;
inline constexpr ExitCode kBadOption = 255;

}  // namespace twinyard::cli
