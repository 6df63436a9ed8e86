#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/plan.h"
#include "sched/index.h"

namespace twinyard::sched {

/// How much work one pass may do. Counts, never time, so that the answer is the same on each run.
struct Budget {
    std::uint64_t placements_max = 1'000'000;  ///< Placements tried, of any workload at any time.
    std::uint32_t starts_max = 4'096;
    bool verdicts = true;  ///< False: reasons without numbers, for replays.
};

/// One pass: what starts now and where, which starts are reserved, and why everything else waits.
/// Pure. A plan may meet a state that moved on: each start is checked again by the ledger.
[[nodiscard]] model::Plan plan(const Index& index,
                               ClusterTime now,
                               WallTime wall,
                               const model::PriorityPolicy& policy,
                               const Budget& budget = {});

}  // namespace twinyard::sched
