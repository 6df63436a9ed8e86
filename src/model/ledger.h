#pragma once

#include <cstdint>
#include <vector>

#include "model/node.h"
#include "model/plan.h"
#include "model/workload.h"

namespace twinyard::model {

/// The ledger: what is in use on a node, and whether a planned grant can be had there now. Pure.
///
/// Hardware threads are numbered by core: core c holds cpus c×t … c×t+t−1 (t = threads a core), and
/// exclusive ones are given out by whole cores. Slurm's jobs get exclusive cpus; Kubernetes' share
/// the rest by weight.

/// Threads of one core that are given out together: 1 where the count of cpus is not that of the
/// sockets × cores × threads.
[[nodiscard]] std::uint32_t threads_per_granted_core(const NodeCapacity& capacity);

/// True if its cpus are exclusive hardware threads.
[[nodiscard]] bool takes_exclusive_cpus(const WorkloadSpec& spec);

/// Can this node give this grant of `spec` now, beside all that `use` holds? Looks at cpus, memory,
/// devices (present, healthy, free), and who may share the node; not at the node's state: ask
/// is_schedulable() too.
[[nodiscard]] bool covers(const Node& node,
                          const NodeUse& use,
                          const PlannedGrant& grant,
                          const WorkloadSpec& spec);

/// The lowest free cpus by whole cores, those near the grant's devices first. Empty: the shared
/// pool, or (for exclusive ones, only if !covers()) not enough.
[[nodiscard]] std::vector<std::uint16_t> choose_cpus(const Node& node,
                                                     const NodeUse& use,
                                                     const PlannedGrant& grant,
                                                     const WorkloadSpec& spec);

/// The planned grant with its cpus chosen. Only if covers().
[[nodiscard]] NodeGrant settle(const Node& node,
                               const NodeUse& use,
                               const PlannedGrant& grant,
                               const WorkloadSpec& spec);

/// Books a grant; give_back() undoes it exactly. `completing` is the caller's: it counts it up when
/// the end is ordered and down before giving back.
void take(NodeUse& use, const NodeGrant& grant, const WorkloadSpec& spec);
void give_back(NodeUse& use, const NodeGrant& grant, const WorkloadSpec& spec);

/// Hardware threads nobody holds, after the shared pool's requests are rounded up; may be negative.
[[nodiscard]] std::int64_t free_cpus(const NodeCapacity& capacity, const NodeUse& use);
/// The same counted in whole free cores × threads: what exclusive grants can get.
[[nodiscard]] std::int64_t free_cpus_in_whole_cores(const NodeCapacity& capacity,
                                                    const NodeUse& use);
/// Bit set by device index: healthy and held by nobody.
[[nodiscard]] std::vector<std::uint64_t> free_devices(const NodeCapacity& capacity,
                                                      const NodeUse& use);

}  // namespace twinyard::model
