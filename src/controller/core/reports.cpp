// What agents say of their launches. A report is worked off a slice at a time and acknowledged when
// all of it is in the records; one that was not heard in full is not acknowledged, and comes again.
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::MemberEvent;
using model::Node;
using model::NodeLink;
using model::Workload;
using model::WorkloadState;

std::optional<MemberEvent> event_of(api::Phase phase) {
    switch (phase) {
        case api::Phase::Ready:
            return MemberEvent::AgentReady;
        case api::Phase::Running:
            return MemberEvent::AgentRunning;
        case api::Phase::Ended:
            return MemberEvent::AgentEnded;
        case api::Phase::Preparing:
        case api::Phase::Ending:
            return std::nullopt;
    }
    return std::nullopt;
}

/// The node of this name, if this session carries it.
std::optional<model::NodeId> carried(const Transaction& tx,
                                     std::uint64_t session,
                                     const std::string& name) {
    const auto known = tx.state().node_names.find(name);
    if (known == tx.state().node_names.end()) return std::nullopt;
    const auto runtime = tx.state().nodes.find(known->second);
    const bool ours = runtime != tx.state().nodes.end() && runtime->second.session == session;
    return ours ? std::optional(known->second) : std::nullopt;
}

/// Its own words about the host stay; what we found out stands behind them.
void note_orphans(Transaction& tx, model::NodeId id) {
    const NodeRuntime& runtime = tx.memory().nodes[id];
    std::string notes = runtime.found ? runtime.found->facts.notes : std::string();
    for (const api::LaunchKey& key : runtime.orphans) {
        if (!notes.empty()) notes += "; ";
        notes += "launch " + std::to_string(key.workload.value()) + "." +
                 std::to_string(key.attempt) + " is unknown here and kept";
    }
    Node node = *find(tx.view(), id);
    node.facts.notes = std::move(notes);
    tx.put_node(std::move(node));
}

/// Not in our records, or from a future that they do not know: never killed for that.
bool is_orphan(const Transaction& tx, const api::ObservedRun& run) {
    const Workload* workload = find(tx.view(), run.key.workload);
    if (workload != nullptr) return run.key.attempt > workload->status.attempt;
    const bool was_ours = run.key.workload.value() < tx.state().counters.next_workload;
    return !(was_ours && run.phase == api::Phase::Ended);
}

/// Nothing here waits for it: over (and may be forgotten), or not ours.
void observe_other(Transaction& tx, model::NodeId node, const api::ObservedRun& run) {
    if (is_orphan(tx, run)) {
        if (tx.memory().nodes[node].orphans.insert(run.key).second) note_orphans(tx, node);
        return;
    }
    if (run.phase == api::Phase::Ended)
        tx.forget(node, run.key);
    else
        tx.stop_stray(node, run.key);
}

void record_batch(Transaction& tx, const Workload& workload, const api::ObservedRun& run) {
    if (run.has_batch) tx.record(batch_record(tx.state(), workload, run));
}

void observe_current(Transaction& tx,
                     model::NodeId node,
                     std::uint32_t index,
                     const api::ObservedRun& run) {
    const std::optional<MemberEvent> event = event_of(run.phase);
    const model::WorkloadId id = run.key.workload;
    if (!event || !advance_run(tx, id, index, *event, &run)) return;
    if (*event != MemberEvent::AgentEnded) return start_if_ready(tx, id);
    record_batch(tx, *find(tx.view(), id), run);
    run_ended(tx, id, index, run.ended_wall);
    // The end is in this command's records, and effects leave when they are durable: a crash before
    // that leaves the entry in the agent's journal, and it is reported again.
    tx.forget(node, run.key);
}

void observe(Transaction& tx, model::NodeId node, const api::ObservedRun& run) {
    const std::optional<Active> active = find_active(tx, node, run.key);
    if (!active) return observe_other(tx, node, run);
    if (active->index) return observe_current(tx, node, *active->index, run);
    if (run.phase != api::Phase::Ended) return;
    release_fenced(tx, run.key);
    tx.forget(node, run.key);
}

void hear(Transaction& tx, model::NodeId id) {
    const Node& found = *find(tx.view(), id);
    if (found.link == NodeLink::Responding) return;
    Node node = found;
    judge_return(tx, node);
    node.link = NodeLink::Responding;
    tx.put_node(std::move(node));
    tx.send_full(id);
}

/// Ours may be ahead of the agent's by orders under way: only if nothing has changed since the
/// report before, it has missed some.
void compare_digest(Transaction& tx, model::NodeId id, std::uint64_t theirs) {
    NodeRuntime& runtime = tx.memory().nodes[id];
    if (!runtime.digest) runtime.digest = node_digest(tx.state(), id);
    const bool settled = runtime.digest_at_report == *runtime.digest;
    runtime.digest_at_report = *runtime.digest;
    if (theirs != *runtime.digest && settled) tx.send_full(id);
}

/// False: no room for all. Its first full report names all that had begun; the rest did not survive
/// there.
bool confirm_launches(Transaction& tx, model::NodeId id, const api::NodeReport& report) {
    NodeRuntime& runtime = tx.memory().nodes[id];
    for (const api::ObservedRun& run : report.runs)
        runtime.to_confirm.erase(run.key);
    const std::string why = "node " + report.name + " does not know of it any more";
    while (!runtime.to_confirm.empty()) {
        if (!tx.has_room()) return false;
        const api::LaunchKey key = *runtime.to_confirm.begin();
        runtime.to_confirm.erase(key);
        if (find_active(tx, id, key)) end_launch(tx, key, why);
    }
    return true;
}

bool observe_steps(Transaction& tx, ReportWork& work, const api::NodeReport& report) {
    for (; work.step < report.steps.size(); ++work.step) {
        if (!tx.has_room()) return false;
        const api::StepRecord& step = report.steps[work.step];
        const Workload* workload = find(tx.view(), step.key.workload);
        if (workload != nullptr) tx.record(step_record(tx.state(), *workload, step));
    }
    return true;
}

/// Steps first: the end of their job then finds them written.
bool observe_node(Transaction& tx, ReportWork& work, const api::NodeReport& report) {
    const std::optional<model::NodeId> id = carried(tx, work.session, report.name);
    if (!id) {
        work.all_heard = false;
        return true;
    }
    hear(tx, *id);
    if (!observe_steps(tx, work, report)) return false;
    if (report.full && work.run == 0) {
        if (!confirm_launches(tx, *id, report)) return false;
        if (!std::exchange(tx.memory().nodes[*id].orphans, {}).empty()) note_orphans(tx, *id);
    }
    for (; work.run < report.runs.size(); ++work.run) {
        if (!tx.has_room()) return false;
        observe(tx, *id, report.runs[work.run]);
    }
    compare_digest(tx, *id, report.digest);
    return true;
}

}  // namespace

Result<api::Reply> handle(Transaction& tx, const api::AgentReported& command) {
    enqueue(
        tx,
        ReportWork{.session = command.session, .report = command.report, .number = command.number});
    return api::Done{};
}

bool work_off(Transaction& tx, ReportWork& work) {
    // A higher term: somebody else leads, and the store will say so too.
    if (work.report.term > tx.state().settings.term) return true;
    for (; work.node < work.report.nodes.size(); ++work.node) {
        if (!tx.state().sessions.contains(work.session)) return true;
        if (!tx.has_room()) return false;
        if (!observe_node(tx, work, work.report.nodes[work.node])) return false;
        work.run = work.step = 0;
    }
    if (work.all_heard) tx.acknowledge(work.session, work.number);
    return true;
}

}  // namespace twinyard::controller
