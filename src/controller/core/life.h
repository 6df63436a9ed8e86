#pragma once

#include <cstdint>

#include "controller/core/transaction.h"

/// The steps of a workload's life that several commands share.
namespace twinyard::controller {

/// The state after the event, which must be legal here; that is the caller's to know.
[[nodiscard]] model::WorkloadState after(model::WorkloadState from, model::WorkloadEvent event);

/// When something ended, in both times. Not before `started`, not in the future.
struct EndTime {
    ClusterTime time{};
    WallTime wall{};
};
/// `wall` as an agent saw it; zero: now.
[[nodiscard]] EndTime end_time(const Transaction& tx,
                               const model::Workload& workload,
                               WallTime wall);

/// How its end comes about.
struct EndOrder {
    model::Outcome outcome;
    bool requeue = false;  ///< Goes back to the queue instead of being done.
    EndTime at;
};
/// Pending: done at once. Else: told to stop, and done when every node has confirmed. Not for what
/// is completing or done.
void order_end(Transaction& tx, model::WorkloadId id, const EndOrder& order);
/// The same, at this moment.
void order_end_now(Transaction& tx, model::WorkloadId id, model::Outcome outcome, bool requeue);

/// Completing, and no run is left that its node has not confirmed: done, or back to the queue. What
/// lost nodes have not confirmed stays fenced.
void finish_if_clean(Transaction& tx, model::WorkloadId id);

/// All of the gang are ready: they are told to go.
void start_if_ready(Transaction& tx, model::WorkloadId id);

/// What one run's node says (or what is known because of the node). False: it came late and changes
/// nothing.
bool advance_run(Transaction& tx,
                 model::WorkloadId id,
                 std::uint32_t index,
                 model::MemberEvent event,
                 const api::ObservedRun* observed);

/// One run is over: by the rule of the workload that may end the others.
void run_ended(Transaction& tx, model::WorkloadId id, std::uint32_t index, WallTime wall);

/// A row of history about the workload as it stands.
[[nodiscard]] api::AccountingRecord job_record(const Core::State& state,
                                               const model::Workload& workload,
                                               bool requeued);
[[nodiscard]] api::AccountingRecord batch_record(const Core::State& state,
                                                 const model::Workload& workload,
                                                 const api::ObservedRun& run);
[[nodiscard]] api::AccountingRecord step_record(const Core::State& state,
                                                const model::Workload& workload,
                                                const api::StepRecord& step);

}  // namespace twinyard::controller
