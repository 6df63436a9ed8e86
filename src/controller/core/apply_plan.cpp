#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/planted_bug.h"
#include "controller/core/handlers.h"
#include "controller/core/life.h"
#include "model/ledger.h"

namespace twinyard::controller {
namespace {

using model::Workload;
using model::WorkloadState;

/// Still the one that the plan was made for, and free to start.
bool may_start(const Transaction& tx, const Workload* workload, const model::PlannedStart& start) {
    if (workload == nullptr || start.grants.empty()) return false;
    const model::WorkloadStatus& status = workload->status;
    const std::optional<WallTime>& begin = workload->spec->begin;
    return status.state == WorkloadState::Pending && status.generation == start.generation &&
           status.hold == model::Hold::None && status.not_before <= tx.now() &&
           (!begin || *begin <= tx.wall());
}

/// One that drains takes nothing new into its queue, but lets what is queued run.
bool partition_is_open(const Transaction& tx,
                       const Workload& workload,
                       const model::PlannedStart& start) {
    const auto& named = workload.spec->partitions;
    if (std::ranges::find(named, start.partition) == named.end()) return false;
    const model::Partition* partition = find_partition(tx.config(), start.partition);
    return partition != nullptr && (partition->state == model::PartitionState::Up ||
                                    partition->state == model::PartitionState::Drain);
}

const model::Node* usable_node(const Transaction& tx, model::NodeId id) {
    const model::Node* node = find(tx.view(), id);
    if (node == nullptr || !is_schedulable(*node)) return nullptr;
    const auto runtime = tx.state().nodes.find(id);
    // Without a connection the order would lie here while others could use the node.
    const bool connected = runtime != tx.state().nodes.end() && runtime->second.session != 0;
    return connected ? node : nullptr;
}

/// All grants of the gang, settled one after the other against what is in use now; empty: one of
/// them cannot be had.
std::vector<model::NodeGrant> settle_all(const Transaction& tx,
                                         const Workload& workload,
                                         const model::PlannedStart& start) {
    std::map<model::NodeId, model::NodeUse> uses;
    std::set<api::LaunchKey> keys;
    std::vector<model::NodeGrant> grants;
    for (const model::PlannedGrant& planned : start.grants) {
        const model::Node* node = usable_node(tx, planned.node);
        if (node == nullptr || planned.group >= workload.spec->groups.size()) return {};
        auto use = uses.find(planned.node);
        if (use == uses.end())
            use = uses.emplace(planned.node, use_of(tx.state(), planned.node)).first;
        if (!planted(PlantedBug::ApplyPlanSkipsLedger) &&
            !covers(*node, use->second, planned, *workload.spec))
            return {};
        grants.push_back(settle(*node, use->second, planned, *workload.spec));
        take(use->second, grants.back(), *workload.spec);
        // Two grants of one name would be one launch.
        if (!keys.insert(launch_key(workload, 0, grants.back())).second) return {};
    }
    return grants;
}

bool start_one(Transaction& tx, const model::PlannedStart& start) {
    const Workload* workload = find(tx.view(), start.workload);
    if (!may_start(tx, workload, start) || !partition_is_open(tx, *workload, start)) return false;
    std::vector<model::NodeGrant> grants = settle_all(tx, *workload, start);
    if (grants.empty()) return false;
    Workload next = *workload;
    model::WorkloadStatus& status = next.status;
    status.state = after(status.state, model::WorkloadEvent::Placed);
    ++status.attempt;
    status.runs.assign(grants.size(), model::MemberRun{});
    status.outcome = {};
    status.not_before = ClusterTime{};
    if (status.eligible == ClusterTime{}) set_eligible(tx, next);
    status.started = tx.now();
    status.started_wall = tx.wall();
    next.placement = std::make_shared<const model::Placement>(
        model::Placement{.partition = start.partition, .grants = std::move(grants)});
    tx.put(std::move(next));
    return true;
}

}  // namespace

Result<api::Reply> handle(Transaction& tx, const api::ApplyPlan& command) {
    if (command.starts.size() > kPlanStartsMax)
        return fail(ErrorCode::InvalidArgument, "too many starts in one command");
    api::PlanApplied applied;
    for (const model::PlannedStart& start : command.starts) {
        if (start_one(tx, start))
            ++applied.started;
        else
            applied.refused.push_back(start.workload);
    }
    return applied;
}

}  // namespace twinyard::controller
