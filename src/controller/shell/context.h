#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/shell/accounting_thread.h"
#include "controller/shell/cluster_clock.h"
#include "controller/shell/engine_thread.h"
#include "controller/shell/lanes.h"
#include "controller/shell/published.h"
#include "controller/shell/workers.h"
#include "store/store.h"

namespace twinyard::controller {

/// Where the configuration comes from; asked at start and at each reconfiguration, on a worker.
struct ConfigSource {
    std::function<Result<model::ClusterConfigPtr>()> load;
    /// Rows of `scontrol show config`.
    std::function<std::vector<std::pair<std::string, std::string>>()> rows;
};

/// What the handlers of the doors work with. All of it may be used by any thread.
struct Context {
    std::shared_ptr<Lanes> lanes;
    Published& published;
    Workers& workers;
    AccountingThread& history;
    EngineThread& engine;
    store::Store& store;
    model::Term term;
    const RunningClock& clock;
    const ConfigSource& config;
    std::uint32_t own_uid = 0;  ///< Of the controller: an administrator beside root.
    WallTime started{};
};

}  // namespace twinyard::controller
