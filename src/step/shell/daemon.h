#pragma once

#include "base/result.h"
#include "step/shell/job.h"

namespace twinyard::step {

/// The whole life of a step daemon (api/stepd.h); back when it is over. One thread. An error: it
/// could not begin; nothing of the job ran.
[[nodiscard]] Status run_stepd(const StepdOptions& options);

}  // namespace twinyard::step
