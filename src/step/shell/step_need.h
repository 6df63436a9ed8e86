#pragma once

#include <expected>

#include "api/agent.h"
#include "api/step.h"
#include "step/core/step_layout.h"

namespace twinyard::step {

/// srun's request in numbers; what it leaves open is as the job has it. A refusal has Slurm's
/// words. Pure.
[[nodiscard]] std::expected<StepNeed, StepRefusal> step_need(const api::StepRequest& request,
                                                             const api::LaunchOrder& order);

}  // namespace twinyard::step
