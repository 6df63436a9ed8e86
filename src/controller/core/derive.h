#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/core/state.h"

/// What follows from the records: no decisions, no changes.
namespace twinyard::controller {

/// How long past its limit the controller leaves the end to the node, before it orders it itself.
inline constexpr Millis kLimitGrace{60'000};

/// How long a submission is remembered, for a client that asks again after a fail-over.
inline constexpr Millis kRequestMemory{10 * 60 * 1000};

/// One launch that is not over: it holds its grant in the ledger, and its node is told what should
/// be of it.
struct Active {
    model::NodeId node;
    api::LaunchKey key;
    const model::NodeGrant* grant = nullptr;
    /// Its place in the placement; none for a fenced one of an earlier attempt.
    std::optional<std::uint32_t> index;
    api::Stage stage = api::Stage::Prepare;
    api::StopReason reason = api::StopReason::None;
    std::optional<Millis> limit;
    [[nodiscard]] bool ending() const { return stage == api::Stage::Stop; }
};

/// Fenced ones first, then by place in the placement.
[[nodiscard]] std::vector<Active> actives(const model::ClusterConfig& config,
                                          const model::Workload& workload);

[[nodiscard]] api::LaunchKey launch_key(const model::Workload& workload,
                                        model::Attempt attempt,
                                        const model::NodeGrant& grant);

/// The limit that holds where it runs (or would run first); none: no end.
[[nodiscard]] std::optional<Millis> effective_limit(const model::ClusterConfig& config,
                                                    const model::Workload& workload);

/// The order for one launch, as its agent gets it.
[[nodiscard]] api::DesiredRun desired_run(const Core::State& state,
                                          const model::Workload& workload,
                                          const Active& active);
[[nodiscard]] api::DesiredRun stop_run(const Core::State& state,
                                       const api::LaunchKey& key,
                                       api::StopReason reason);
/// Of everything that should be on the node.
[[nodiscard]] std::uint64_t node_digest(const Core::State& state, model::NodeId node);

/// When a Tick must look at it; none: never.
[[nodiscard]] std::optional<ClusterTime> due(const Core::State& state,
                                             const model::Workload& workload);

/// Brings uses, names, references, timers in line with one object's change. Null: it was not there
/// before, or is gone.
void index_workload(Core::State& state, const model::Workload* old, const model::Workload* now);
void index_node(Core::State& state, const model::Node* old, const model::Node* now);
/// Sets its timer by due(); after something else that due() looks at has changed.
void set_timer(Core::State& state, model::WorkloadId id, std::optional<ClusterTime> at);

[[nodiscard]] model::NodeUse use_of(const Core::State& state, model::NodeId node);

}  // namespace twinyard::controller
