#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/plan.h"
#include "sched/index.h"

namespace twinyard::sched {

struct ForecastOptions {
    std::uint32_t workloads = 1'000;  ///< How many pending ones, first in order.
    /// What did not start when the work is used up is left out: each pass of the replay costs the
    /// number of nodes, of running and of looked-at pending workloads.
    std::uint64_t work_max = 50'000'000;
    /// With more running than `coarse_from`, ends within a span count as one.
    std::uint32_t coarse_from = 5'000;
    Millis coarse_span{Seconds{60}};
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
