#pragma once

#include <optional>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/plan.h"
#include "model/workload.h"

namespace twinyard::sched {

/// Work that outlived its expected end, or is ending, is expected to be gone after this; planned
/// anew in each pass.
inline constexpr Millis kOverrunStep{1'000};

/// The time limit that holds for it in a partition; none: it has no end.
[[nodiscard]] std::optional<Millis> limit_in(const model::WorkloadSpec& spec,
                                             const model::Partition& partition);

/// When it is expected to free what it holds, always after `now`; none: never.
[[nodiscard]] std::optional<ClusterTime> expected_end(const model::Workload& workload,
                                                      const model::ClusterConfig& config,
                                                      ClusterTime now);

/// What keeps this very workload from being looked at: held, begin time, back-off, a demand that
/// cannot be placed yet. None if nothing does.
[[nodiscard]] model::Wait own_limit(const model::Workload& workload,
                                    ClusterTime now,
                                    WallTime wall);

/// When own_limit() may change by itself; none: never.
[[nodiscard]] std::optional<ClusterTime> own_limit_ends(const model::Workload& workload,
                                                        ClusterTime now,
                                                        WallTime wall);

/// What keeps all of its shape from this partition: its state, its limits of time and nodes. Such
/// work waits; it is not refused.
[[nodiscard]] model::Wait partition_limit(const model::WorkloadSpec& spec,
                                          const model::Partition& partition,
                                          std::uint32_t nodes_there);

}  // namespace twinyard::sched
