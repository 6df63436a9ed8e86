#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "os/fd.h"
#include "up/cluster_plan.h"

namespace twinyard::up {

/// Takes the cluster's lock. Conflict: a supervisor runs there; the message names its pid.
[[nodiscard]] Result<os::Fd> lock_cluster(const std::string& dir);

/// Keeps the cluster's daemons running until SIGTERM: starts those that do not run, takes over
/// those that do (of a supervisor that was killed), starts again what dies, more slowly each time.
/// Then stops agents, then the controller; step daemons stay. Returns when all are gone. `started`
/// is called once all were started.
[[nodiscard]] Status supervise(const ClusterPlan& plan, const std::function<void()>& started);

}  // namespace twinyard::up
