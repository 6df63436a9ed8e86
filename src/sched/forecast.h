#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/plan.h"
#include "sched/index.h"

namespace twinyard::sched {

struct ForecastOptions {
    std::uint32_t workloads = 1'000;   ///< How many pending ones, first in order.
    std::uint32_t steps_max = 20'000;  ///< Passes replayed; what did not start by then is left out.
    std::uint64_t placements_max = 2'000'000;
};

/// Replays the queue forward under the policy: every workload runs to its limit, nothing new comes.
/// Those that never start (held, impossible, behind work without an end) have no start. Off the
/// pass: it may take long.
[[nodiscard]] model::Forecast forecast(const Index& index,
                                       ClusterTime now,
                                       WallTime wall,
                                       const model::PriorityPolicy& policy,
                                       const ForecastOptions& options = {});

}  // namespace twinyard::sched
