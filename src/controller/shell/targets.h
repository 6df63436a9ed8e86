#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/command.h"
#include "api/slurm.h"
#include "controller/shell/lanes.h"
#include "model/snapshot.h"

namespace twinyard::controller {

/// The jobs that a request names, in order of ids; those asked for by number that do not exist come
/// in `unknown`.
struct ResolvedTargets {
    std::vector<model::WorkloadPtr> found;
    std::vector<std::uint32_t> unknown;
};
[[nodiscard]] ResolvedTargets resolve(const api::JobTargets& targets,
                                      const model::Snapshot& snapshot);

/// Makes the command for one slice of targets.
using MakeCommand = std::function<api::Command(std::vector<model::WorkloadId>)>;
/// Results in the order of the targets.
using OnAllDone = std::move_only_function<void(std::vector<Status>)>;

/// Works through any number of targets in slices that each are one transaction, a few in the lane
/// at a time, so that a `scancel` of 100,000 jobs neither fills a lane nor stalls anybody. What was
/// done stays done if the process dies midway; the caller has no answer then and asks again. Any
/// thread.
void for_all_targets(std::shared_ptr<Lanes> lanes,
                     const api::Principal& principal,
                     std::vector<model::WorkloadId> targets,
                     MakeCommand make,
                     OnAllDone done);

}  // namespace twinyard::controller
