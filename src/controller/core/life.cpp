#include "controller/core/life.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace twinyard::controller {
namespace {

using model::EndKind;
using model::EndRule;
using model::Hold;
using model::MemberState;
using model::Workload;
using model::WorkloadEvent;
using model::WorkloadState;
using model::WorkloadStatus;

/// After the first failed launch 2 s, then twice as long each time, five minutes at most.
Millis back_off(std::uint32_t failures) {
    return Seconds{std::min<std::int64_t>(std::int64_t{1} << std::min(failures, 10U), 300)};
}

/// The nodes that were lost before they confirmed keep what they were given.
void fence_unknown(const Workload& workload, WorkloadStatus& status) {
    for (std::size_t i = 0; i < status.runs.size(); ++i) {
        if (status.runs[i].state != MemberState::Unknown) continue;
        status.fenced.push_back({status.attempt, workload.placement->grants[i]});
    }
}

void hold_after_failures(const Transaction& tx, WorkloadStatus& status) {
    ++status.launch_failures;
    status.not_before = tx.now() + back_off(status.launch_failures);
    const std::uint32_t max = tx.config().limits.requeue_max;
    if (status.launch_failures < max || status.hold != Hold::None) return;
    status.hold = Hold::LaunchFailed;
    status.eligible = ClusterTime{};
    status.eligible_wall = WallTime{};
}

/// What a queued one looks like; attempts and restarts go on counting.
void back_to_queue(const Transaction& tx, Workload& workload) {
    WorkloadStatus& status = workload.status;
    const bool launch_failed = status.outcome.kind == EndKind::LaunchFailed;
    const std::string detail = status.outcome.detail;
    status.state = after(status.state, WorkloadEvent::Requeued);
    if (!launch_failed) ++status.restarts;
    status.runs.clear();
    workload.placement = nullptr;
    status.requeue_at_end = false;
    status.started = status.ended = status.end_asked = ClusterTime{};
    status.started_wall = status.ended_wall = WallTime{};
    status.suspended_since = ClusterTime{};
    status.suspended_total = Millis{0};
    status.submitted = tx.now();
    status.submitted_wall = tx.wall();
    const bool eligible = status.hold == Hold::None;
    status.eligible = eligible ? tx.now() : ClusterTime{};
    status.eligible_wall = eligible ? tx.wall() : WallTime{};
    const Millis delay = tx.config().limits.requeue_delay;
    status.not_before = delay.count() > 0 ? tx.now() + delay : ClusterTime{};
    status.outcome = {};
    if (!launch_failed) return;
    status.outcome.detail = detail;
    hold_after_failures(tx, status);
}

void requeue(Transaction& tx, const Workload& workload) {
    tx.record(job_record(tx.state(), workload, true));
    Workload next = workload;
    fence_unknown(workload, next.status);
    back_to_queue(tx, next);
    tx.record(job_record(tx.state(), tx.put(std::move(next)), false));
}

void conclude(Transaction& tx, const Workload& workload) {
    Workload next = workload;
    next.status.state = after(next.status.state, WorkloadEvent::Cleaned);
    fence_unknown(workload, next.status);
    next.status.launch_failures = 0;
    tx.record(job_record(tx.state(), tx.put(std::move(next)), false));
}

bool is_over(const model::MemberRun& run) {
    return run.state == MemberState::Ended || run.state == MemberState::Unknown;
}

/// The last word on members that end each on its own: the first that went wrong.
model::Outcome worst_of(const std::vector<model::MemberRun>& runs) {
    for (const model::MemberRun& run : runs) {
        if (run.state == MemberState::Unknown) return {.kind = EndKind::NodeFailed};
        if (run.outcome.kind != EndKind::Completed) return run.outcome;
    }
    return {.kind = EndKind::Completed};
}

/// A part of the gang that ends before the job's script (which only the first node has) has not
/// completed, whatever it says.
model::Outcome outcome_of(const Transaction& tx, const Workload& workload, std::uint32_t index) {
    const model::MemberRun& run = workload.status.runs[index];
    const model::Node* node = find(tx.view(), workload.placement->grants[index].node);
    const std::string name = node == nullptr ? std::string() : node->name;
    if (run.state == MemberState::Unknown)
        return {.kind = EndKind::NodeFailed, .detail = "node " + name + " was lost"};
    const bool cannot_be = run.outcome.kind == EndKind::None ||
                           (run.outcome.kind == EndKind::Completed &&
                            (index != 0 || workload.status.state == WorkloadState::Starting));
    if (!cannot_be) return run.outcome;
    return {.kind = workload.status.state == WorkloadState::Starting ? EndKind::LaunchFailed
                                                                     : EndKind::NodeFailed,
            .detail = "its part on node " + name + " ended before the job"};
}

/// What failed before anything of the user's ran goes back; after that the user decides.
bool requeues_after(const Workload& workload, const model::Outcome& outcome) {
    if (outcome.kind == EndKind::LaunchFailed) return true;
    if (outcome.kind != EndKind::NodeFailed) return false;
    return workload.spec->requeue_allowed || workload.status.state == WorkloadState::Starting;
}

/// Ordered by us: the script's own code is kept with it, for people.
void keep_script_code(Transaction& tx, const Workload& workload, std::uint32_t index) {
    const EndKind kind = workload.status.outcome.kind;
    const bool ours = kind == EndKind::Cancelled || kind == EndKind::Preempted;
    const model::Outcome& own = workload.status.runs[index].outcome;
    if (index != 0 || !ours || (own.exit_code == 0 && own.signal == 0)) return;
    Workload next = workload;
    next.status.outcome.exit_code = own.exit_code;
    next.status.outcome.signal = own.signal;
    tx.put(std::move(next));
}

}  // namespace

WorkloadState after(WorkloadState from, WorkloadEvent event) {
    const std::optional<WorkloadState> to = model::next(from, event);
    CHECK(to.has_value());
    return *to;
}

EndTime end_time(const Transaction& tx, const Workload& workload, WallTime wall) {
    const Millis back = tx.wall() - wall;
    if (wall == WallTime{} || back.count() <= 0) return {tx.now(), tx.wall()};
    const ClusterTime time = std::max(tx.now() - back, workload.status.started);
    return {time, tx.wall() - (tx.now() - time)};
}

void order_end(Transaction& tx, model::WorkloadId id, const EndOrder& order) {
    Workload next = *find(tx.view(), id);
    const bool was_pending = next.status.state == WorkloadState::Pending;
    next.status.state = after(next.status.state, WorkloadEvent::EndOrdered);
    next.status.outcome = order.outcome;
    next.status.requeue_at_end = order.requeue && !was_pending;
    next.status.ended = order.at.time;
    next.status.ended_wall = order.at.wall;
    next.status.end_asked = tx.now();
    const Workload& now = tx.put(std::move(next));
    if (was_pending)
        tx.record(job_record(tx.state(), now, false));
    else
        finish_if_clean(tx, id);
}

void order_end_now(Transaction& tx, model::WorkloadId id, model::Outcome outcome, bool requeue) {
    order_end(
        tx, id, {.outcome = std::move(outcome), .requeue = requeue, .at = {tx.now(), tx.wall()}});
}

void finish_if_clean(Transaction& tx, model::WorkloadId id) {
    const model::WorkloadPtr workload = *tx.view().workloads.find(id.value());
    if (workload->status.state != WorkloadState::Completing) return;
    if (!std::ranges::all_of(workload->status.runs, is_over)) return;
    if (workload->status.requeue_at_end)
        requeue(tx, *workload);
    else
        conclude(tx, *workload);
}

void start_if_ready(Transaction& tx, model::WorkloadId id) {
    const Workload& workload = *find(tx.view(), id);
    if (workload.status.state != WorkloadState::Starting) return;
    const bool all = std::ranges::all_of(workload.status.runs, [](const model::MemberRun& run) {
        return run.state == MemberState::Ready || run.state == MemberState::Running;
    });
    if (!all) return;
    Workload next = workload;
    next.status.state = after(next.status.state, WorkloadEvent::Started);
    next.status.started = tx.now();
    next.status.started_wall = tx.wall();
    tx.record(job_record(tx.state(), tx.put(std::move(next)), false));
}

bool advance_run(Transaction& tx,
                 model::WorkloadId id,
                 std::uint32_t index,
                 model::MemberEvent event,
                 const api::ObservedRun* observed) {
    const Workload& workload = *find(tx.view(), id);
    const auto to = model::next(workload.status.runs[index].state, event);
    if (!to) return false;
    Workload next = workload;
    model::MemberRun& run = next.status.runs[index];
    run.state = *to;
    if (observed != nullptr) {
        if (!observed->address.empty()) run.address = observed->address;
        if (*to == MemberState::Ended) run.outcome = observed->outcome;
    }
    tx.put(std::move(next));
    return true;
}

void run_ended(Transaction& tx, model::WorkloadId id, std::uint32_t index, WallTime wall) {
    const model::WorkloadPtr workload = *tx.view().workloads.find(id.value());
    const WorkloadStatus& status = workload->status;
    if (status.state == WorkloadState::Completing) {
        keep_script_code(tx, *workload, index);
        return finish_if_clean(tx, id);
    }
    if (!holds_resources(status.state)) return;
    model::Outcome outcome = outcome_of(tx, *workload, index);
    const bool together =
        workload->spec->end_rule == EndRule::Together || status.state == WorkloadState::Starting;
    if (!together) {
        if (!std::ranges::all_of(status.runs, is_over)) return;
        outcome = worst_of(status.runs);
    }
    const bool requeue = requeues_after(*workload, outcome);
    order_end(
        tx,
        id,
        {.outcome = std::move(outcome), .requeue = requeue, .at = end_time(tx, *workload, wall)});
}

}  // namespace twinyard::controller
