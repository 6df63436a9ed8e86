#pragma once

// For tests of the agent's core.

#include <string>
#include <utility>
#include <vector>

#include "agent/core/agent_core.h"

namespace twinyard::agent {

inline api::LaunchKey key(std::uint64_t workload, model::Attempt attempt = 1) {
    return {model::WorkloadId{workload}, attempt, 0, 0};
}

inline api::DesiredRun desired(const api::LaunchKey& key, api::Stage stage) {
    api::DesiredRun run;
    run.stage = stage;
    run.launch.key = key;
    if (stage == api::Stage::Stop) run.reason = api::StopReason::Cancelled;
    return run;
}
inline api::DesiredRun prepare(const api::LaunchKey& key) {
    return desired(key, api::Stage::Prepare);
}
inline api::DesiredRun go(const api::LaunchKey& key) {
    return desired(key, api::Stage::Go);
}
inline api::DesiredRun stop(const api::LaunchKey& key) {
    return desired(key, api::Stage::Stop);
}

inline api::ObservedRun observed(const api::LaunchKey& key, api::Phase phase) {
    api::ObservedRun run;
    run.key = key;
    run.phase = phase;
    if (phase == api::Phase::Ended) run.outcome.kind = model::EndKind::Completed;
    return run;
}

inline Settings settings(std::vector<std::string> names) {
    Settings settings;
    for (std::string& name : names) {
        api::NodeHello hello;
        hello.name = std::move(name);
        settings.nodes.push_back(std::move(hello));
    }
    return settings;
}

inline OrdersReceived orders(std::vector<api::DesiredRun> runs,
                             bool full = false,
                             std::vector<api::LaunchKey> forget = {},
                             const std::string& node = "n1") {
    api::NodeOrders part;
    part.name = node;
    part.full = full;
    part.runs = std::move(runs);
    part.forget = std::move(forget);
    api::AgentOrders all;
    all.cluster_id = "c";
    all.term = 1;
    all.nodes.push_back(std::move(part));
    return {std::move(all)};
}

template <class T>
std::vector<T> all_of(const std::vector<Effect>& effects) {
    std::vector<T> found;
    for (const Effect& effect : effects) {
        if (const auto* one = std::get_if<T>(&effect)) found.push_back(*one);
    }
    return found;
}

}  // namespace twinyard::agent
