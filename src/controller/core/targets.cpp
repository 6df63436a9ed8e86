// The commands of users that name workloads: cancel, signal, hold, requeue. Each target stands
// alone.
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::EndKind;
using model::Hold;
using model::Workload;
using model::WorkloadState;

Result<model::WorkloadPtr> changeable(const Transaction& tx, model::WorkloadId id) {
    const model::WorkloadPtr* found = tx.view().workloads.find(id.value());
    if (found == nullptr) return fail(ErrorCode::NotFound, "there is no such job");
    TRY_STATUS(may_change(tx, **found));
    return *found;
}

/// Runs `one(target)` for each, and gathers what came of it.
template <class Command, class One>
Result<api::Reply> for_each_target(const Command& command, One&& one) {
    if (command.targets.size() > api::kCommandTargetsMax)
        return fail(ErrorCode::InvalidArgument, "too many targets in one command");
    api::Affected affected;
    for (const model::WorkloadId target : command.targets)
        affected.results.push_back(one(target));
    return affected;
}

Error already_over() {
    return {ErrorCode::Conflict, "it has ended or is ending already"};
}

/// A requeue under way is turned into an end; anything else goes on as it was decided.
Status cancel_completing(Transaction& tx, const Workload& workload, const api::Cancel& command) {
    if (!workload.status.requeue_at_end) return fail(already_over());
    if (command.requeue_if_allowed) return {};
    Workload next = workload;
    next.status.requeue_at_end = false;
    next.status.outcome = {.kind = command.kind, .by_uid = tx.principal().uid};
    tx.put(std::move(next));
    return {};
}

Status cancel_one(Transaction& tx, model::WorkloadId id, const api::Cancel& command) {
    TRY(const model::WorkloadPtr workload, changeable(tx, id));
    if (command.kind != EndKind::Cancelled && !tx.principal().is_admin)
        return fail(ErrorCode::Denied, "only an administrator ends a job this way");
    const WorkloadState state = workload->status.state;
    if (state == WorkloadState::Done) return fail(already_over());
    if (state == WorkloadState::Completing) return cancel_completing(tx, *workload, command);
    const bool back = command.requeue_if_allowed && workload->spec->requeue_allowed;
    if (state == WorkloadState::Pending && command.requeue_if_allowed) return {};
    order_end_now(tx, id, {.kind = command.kind, .by_uid = tx.principal().uid}, back);
    return {};
}

Status signal_one(Transaction& tx, model::WorkloadId id, const api::Signal& command) {
    TRY(const model::WorkloadPtr workload, changeable(tx, id));
    const WorkloadState state = workload->status.state;
    if (state == WorkloadState::Done || state == WorkloadState::Completing)
        return fail(already_over());
    if (state != WorkloadState::Running && state != WorkloadState::Suspended)
        return fail(ErrorCode::Conflict, "it does not run yet");
    for (const Active& active : actives(tx.config(), *workload)) {
        if (!active.index) continue;
        if (command.scope == api::SignalScope::BatchShell && *active.index != 0) continue;
        tx.signal(active.node,
                  {.key = active.key, .signal = command.signal, .scope = command.scope});
    }
    return {};
}

bool is_admins(Hold hold) {
    return hold == Hold::Admin;
}

Status hold_one(Transaction& tx, model::WorkloadId id, Hold hold) {
    TRY(const model::WorkloadPtr workload, changeable(tx, id));
    if (workload->status.state != WorkloadState::Pending)
        return fail(ErrorCode::Conflict, "it does not wait any more");
    const bool touches_admins = is_admins(hold) || is_admins(workload->status.hold);
    if (touches_admins && hold != workload->status.hold && !tx.principal().is_admin)
        return fail(ErrorCode::Denied, "only an administrator sets or lifts this hold");
    if (hold == workload->status.hold) return {};
    Workload next = *workload;
    if (next.status.hold == Hold::LaunchFailed) {
        next.status.launch_failures = 0;
        next.status.not_before = ClusterTime{};
    }
    next.status.hold = hold;
    set_eligible(tx, next);
    tx.put(std::move(next));
    return {};
}

Status requeue_one(Transaction& tx, model::WorkloadId id, Hold then) {
    TRY(const model::WorkloadPtr workload, changeable(tx, id));
    const WorkloadState state = workload->status.state;
    if (state == WorkloadState::Pending) {
        if (then != Hold::None) return hold_one(tx, id, then);
        return fail(ErrorCode::Conflict, "it waits already");
    }
    if (state == WorkloadState::Done || state == WorkloadState::Completing)
        return fail(already_over());
    if (!workload->spec->requeue_allowed)
        return fail(ErrorCode::Conflict, "it may not be requeued");
    if (is_admins(then) && !tx.principal().is_admin)
        return fail(ErrorCode::Denied, "only an administrator sets this hold");
    Workload held = *workload;
    held.status.hold = then;
    tx.put(std::move(held));
    order_end_now(tx, id, {.kind = EndKind::Cancelled, .by_uid = tx.principal().uid}, true);
    return {};
}

}  // namespace

Status may_change(const Transaction& tx, const Workload& workload) {
    if (tx.principal().is_admin || tx.principal().uid == workload.spec->uid) return {};
    return fail(ErrorCode::Denied, "it belongs to another user");
}

Result<api::Reply> handle(Transaction& tx, const api::Cancel& command) {
    return for_each_target(command,
                           [&](model::WorkloadId id) { return cancel_one(tx, id, command); });
}

Result<api::Reply> handle(Transaction& tx, const api::Signal& command) {
    return for_each_target(command,
                           [&](model::WorkloadId id) { return signal_one(tx, id, command); });
}

Result<api::Reply> handle(Transaction& tx, const api::SetHold& command) {
    return for_each_target(command,
                           [&](model::WorkloadId id) { return hold_one(tx, id, command.hold); });
}

Result<api::Reply> handle(Transaction& tx, const api::Requeue& command) {
    return for_each_target(command,
                           [&](model::WorkloadId id) { return requeue_one(tx, id, command.then); });
}

}  // namespace twinyard::controller
