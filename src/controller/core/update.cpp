#include <memory>
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::Workload;
using model::WorkloadState;

/// What decides where and when it starts cannot change once it has.
bool changes_the_request(const api::Update& update) {
    return update.queue || update.qos || update.partitions || update.priority || update.begin ||
           update.groups;
}

/// Longer, with no limit being the longest.
bool raises(const std::optional<Millis>& from, const std::optional<Millis>& to) {
    if (!from) return false;
    return !to || *to > *from;
}

Status check_rights(const Transaction& tx, const Workload& workload, const api::Update& update) {
    if (tx.principal().is_admin) return {};
    const bool started = workload.status.state != WorkloadState::Pending;
    if (started && update.time_limit &&
        raises(effective_limit(tx.config(), workload), *update.time_limit))
        return fail(ErrorCode::Denied, "only an administrator extends what runs");
    if (update.priority && *update.priority != 0)
        return fail(ErrorCode::Denied, "only an administrator sets a priority");
    if (update.nice && *update.nice < 0)
        return fail(ErrorCode::Denied, "only an administrator puts a job forward");
    return {};
}

Status check_values(const Transaction& tx, const Workload& workload, const api::Update& update) {
    if (update.partitions) {
        if (update.partitions->empty())
            return fail(ErrorCode::InvalidArgument, "no partition is named");
        for (const std::string& name : *update.partitions) {
            if (find_partition(tx.config(), name) == nullptr)
                return fail(ErrorCode::InvalidArgument, "there is no partition " + name);
        }
    }
    if (!update.groups) return {};
    if (update.groups->empty()) return fail(ErrorCode::InvalidArgument, "the request is empty");
    // The ledger gives back by the same request that it took by.
    if (!workload.status.fenced.empty())
        return fail(ErrorCode::Conflict, "a lost node still holds a part of it");
    return {};
}

std::uint32_t members_of(const std::vector<model::TaskGroup>& groups) {
    std::uint32_t sum = 0;
    for (const model::TaskGroup& group : groups)
        sum += group.members.min;
    return sum;
}

model::WorkloadSpec updated(const model::WorkloadSpec& old, const api::Update& update) {
    model::WorkloadSpec spec = old;
    if (update.time_limit) spec.time_limit = *update.time_limit;
    if (update.name) spec.name = *update.name;
    if (update.queue) spec.queue = *update.queue;
    if (update.qos) spec.qos = *update.qos;
    if (update.comment) spec.comment = *update.comment;
    if (update.partitions) spec.partitions = *update.partitions;
    if (update.priority) spec.priority = *update.priority;
    if (update.nice) spec.nice = *update.nice;
    if (update.begin) spec.begin = *update.begin;
    if (update.requeue_allowed) spec.requeue_allowed = *update.requeue_allowed;
    if (update.groups) {
        // A gang that needs all of its members goes on to need all.
        const bool needs_all = spec.min_members == members_of(spec.groups);
        spec.groups = *update.groups;
        if (needs_all) spec.min_members = members_of(spec.groups);
    }
    return spec;
}

/// A priority of 0 holds, any other one lifts the hold.
void follow_priority(const Transaction& tx, const api::Update& update, Workload& next) {
    if (!update.priority) return;
    const model::Hold by = tx.principal().is_admin ? model::Hold::Admin : model::Hold::User;
    next.status.hold = *update.priority == 0 ? by : model::Hold::None;
}

}  // namespace

Result<api::Reply> handle(Transaction& tx, const api::Update& command) {
    const model::WorkloadPtr* found = tx.view().workloads.find(command.target.value());
    if (found == nullptr) return fail(ErrorCode::NotFound, "there is no such job");
    const model::WorkloadPtr old = *found;
    const WorkloadState state = old->status.state;
    TRY_STATUS(may_change(tx, *old));
    if (state == WorkloadState::Done || state == WorkloadState::Completing)
        return fail(ErrorCode::Conflict, "it has ended or is ending already");
    if (state != WorkloadState::Pending && changes_the_request(command))
        return fail(ErrorCode::Conflict, "it does not wait any more");
    TRY_STATUS(check_rights(tx, *old, command));
    TRY_STATUS(check_values(tx, *old, command));
    Workload next = *old;
    next.spec = std::make_shared<const model::WorkloadSpec>(updated(*old->spec, command));
    ++next.status.generation;
    follow_priority(tx, command, next);
    if (state == WorkloadState::Pending && (command.begin || next.status.hold != old->status.hold))
        set_eligible(tx, next);
    tx.record(job_record(tx.state(), tx.put(std::move(next)), false));
    return api::Affected{.results = {Status{}}};
}

}  // namespace twinyard::controller
