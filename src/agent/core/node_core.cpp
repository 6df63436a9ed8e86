// One node's launches: what the journal told, what the controller orders, what step daemons say.
// What is said to the controller about it is in node_report.cpp.
#include "agent/core/node_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace twinyard::agent {
namespace {

using api::Phase;
using api::Stage;
using model::EndKind;

/// A stage is never taken back: an order for an earlier one came late.
bool is_late(const std::optional<api::DesiredRun>& held, const api::DesiredRun& run) {
    return held && run.stage < held->stage;
}

api::ObservedRun ended_run(const api::LaunchKey& key, model::Outcome outcome, Now now) {
    api::ObservedRun run;
    run.key = key;
    run.phase = Phase::Ended;
    run.outcome = std::move(outcome);
    run.ended_wall = now.wall;
    return run;
}

std::optional<LaunchEvent> event_of(Phase phase) {
    switch (phase) {
        case Phase::Preparing:
            return std::nullopt;
        case Phase::Ready:
            return LaunchEvent::StepdReady;
        case Phase::Running:
            return LaunchEvent::StepdRunning;
        case Phase::Ending:
            return LaunchEvent::EndBegun;
        case Phase::Ended:
            return LaunchEvent::StepdEnded;
    }
    return std::nullopt;
}

}  // namespace

NodeCore::NodeCore(NodeIndex index, std::string name, std::size_t forgotten_max)
    : index_(index), name_(std::move(name)), attempts_(forgotten_max) {}

Launch& NodeCore::insert(const api::LaunchOrder& order) {
    Launch& launch = launches_[order.key];
    CHECK(launch.order.key == api::LaunchKey{});
    launch.order = order;
    launch.seen.key = order.key;
    attempts_.note(order.key);
    attempts_.hold(order.key);
    return launch;
}

void NodeCore::erase(const api::LaunchKey& key) {
    const auto found = launches_.find(key);
    set_desired(found->second, std::nullopt);
    launches_.erase(found);
    started_.erase(key);
    ended_.erase(key);
    news_.erase(key);
    said_.erase(key);
    std::erase_if(step_news_, [&](const StepName& name) { return name.first == key; });
    attempts_.release(key);
}

void NodeCore::set_desired(Launch& launch, std::optional<api::DesiredRun> desired) {
    if (launch.desired) digest_ -= desired_digest(*launch.desired);
    launch.desired = std::move(desired);
    if (launch.desired) digest_ += desired_digest(*launch.desired);
}

void NodeCore::append(std::vector<Effect>& out, JournalEntry entry, bool durable) const {
    entry.node = index_;
    out.emplace_back(AppendJournal{std::move(entry), durable});
}

void NodeCore::replay(const JournalEntry& entry) {
    if (const auto* launched = std::get_if<Launched>(&entry.fact)) {
        // Whether it was told to go is not in the journal: what is not known counts as done.
        insert(launched->order).may_have_run = true;
    } else if (const auto* started = std::get_if<Started>(&entry.fact)) {
        started_[started->key] = *started;
    } else if (const auto* ended = std::get_if<Ended>(&entry.fact)) {
        const api::LaunchKey& key = ended->run.key;
        if (!launches_.contains(key)) {
            api::LaunchOrder never_started;
            never_started.key = key;
            insert(never_started);
        }
        launches_[key].seen = ended->run;
        ended_.insert(key);
    } else if (const auto* forgotten = std::get_if<Forgotten>(&entry.fact)) {
        if (launches_.contains(forgotten->key)) erase(forgotten->key);
    } else if (const auto* high = std::get_if<HighWater>(&entry.fact)) {
        attempts_.note(high->key);
    }
}

void NodeCore::adopt(std::vector<Effect>& out) const {
    for (const auto& [key, launch] : launches_) {
        if (launch.seen.phase == Phase::Ended) continue;
        AdoptStepd adopt{.node = index_, .order = launch.order, .pid = 0, .start_time = 0};
        const auto started = started_.find(key);
        if (started != started_.end()) {
            adopt.pid = started->second.pid;
            adopt.start_time = started->second.start_time;
        }
        out.emplace_back(std::move(adopt));
    }
}

void NodeCore::write_journal(std::vector<JournalEntry>& out) const {
    for (const api::LaunchKey& key : attempts_.keys())
        out.push_back({index_, HighWater{key}});
    for (const auto& [key, launch] : launches_) {
        out.push_back({index_, Launched{launch.order}});
        const auto started = started_.find(key);
        if (started != started_.end()) out.push_back({index_, started->second});
        if (launch.seen.phase == Phase::Ended) out.push_back({index_, Ended{launch.seen}});
    }
}

void NodeCore::on_orders(const api::NodeOrders& orders, Now now, std::vector<Effect>& out) {
    for (const api::DesiredRun& run : orders.runs)
        order_run(run, now, out);
    if (orders.full) orphan_unnamed(orders);
    for (const api::LaunchKey& key : orders.forget)
        forget(key, out);
    for (const api::SignalOrder& signal : orders.signals) {
        const auto found = launches_.find(signal.key);
        if (found == launches_.end() || found->second.seen.phase == Phase::Ended) continue;
        out.emplace_back(SignalStepd{index_, signal});
    }
    expected_digest_ = orders.digest;
    welcomed_ = true;
}

void NodeCore::order_run(const api::DesiredRun& run, Now now, std::vector<Effect>& out) {
    const auto found = launches_.find(run.launch.key);
    if (found == launches_.end()) return order_unknown(run, now, out);
    order_known(found->second, run, out);
}

void NodeCore::order_known(Launch& launch, const api::DesiredRun& run, std::vector<Effect>& out) {
    if (is_late(launch.desired, run) || launch.desired == run) return;
    set_desired(launch, run);
    if (launch.seen.phase == Phase::Ended) return;
    if (run.stage == Stage::Go) launch.may_have_run = true;
    if (run.stage == Stage::Stop && next(launch.seen.phase, LaunchEvent::EndBegun))
        launch.seen.phase = *next(launch.seen.phase, LaunchEvent::EndBegun);
    out.emplace_back(TellStepd{index_, run});
}

void NodeCore::order_unknown(const api::DesiredRun& run, Now now, std::vector<Effect>& out) {
    const api::LaunchKey& key = run.launch.key;
    if (run.stage == Stage::Stop) {
        model::Outcome outcome{.kind = EndKind::LaunchFailed, .detail = "it was never started"};
        return end_unstarted(run, std::move(outcome), now, out);
    }
    if (run.stage == Stage::Go) {
        // It was ready here once, or it would not be told to go: our memory of it is gone.
        model::Outcome outcome{.kind = EndKind::NodeFailed,
                               .detail = "node " + name_ + " does not know of it any more"};
        return end_unstarted(run, std::move(outcome), now, out);
    }
    if (attempts_.seen(key)) {
        model::Outcome outcome{.kind = EndKind::LaunchFailed,
                               .detail = "node " + name_ + " has had this attempt before"};
        return end_unstarted(run, std::move(outcome), now, out);
    }
    set_desired(insert(run.launch), run);
    // Before the fork, durably: after a crash in between it is looked for, found missing, and said
    // to be over; it is never started a second time.
    append(out, {index_, Launched{run.launch}}, true);
    out.emplace_back(StartStepd{index_, run.launch});
}

/// It is over without having begun, and is remembered like all others: an order to start it may
/// still be under way.
void NodeCore::end_unstarted(const api::DesiredRun& run,
                             model::Outcome outcome,
                             Now now,
                             std::vector<Effect>& out) {
    api::LaunchOrder order;
    order.key = run.launch.key;
    Launch& launch = insert(order);
    set_desired(launch, run);
    end(launch, ended_run(order.key, std::move(outcome), now), out);
}

/// Kept and reported: absence is never an order to kill.
void NodeCore::orphan_unnamed(const api::NodeOrders& orders) {
    std::set<api::LaunchKey> named;
    for (const api::DesiredRun& run : orders.runs)
        named.insert(run.launch.key);
    for (auto& [key, launch] : launches_) {
        if (named.contains(key)) continue;
        set_desired(launch, std::nullopt);
        news_.insert(key);
    }
}

/// Only what has ended can be forgotten: a Forget for something that lives is stale.
void NodeCore::forget(const api::LaunchKey& key, std::vector<Effect>& out) {
    if (!ended_.contains(key)) return;
    erase(key);
    append(out, {index_, Forgotten{key}}, false);
    out.emplace_back(ForgetLocal{index_, key});
}

void NodeCore::end(Launch& launch, api::ObservedRun run, std::vector<Effect>& out) {
    launch.seen = std::move(run);
    ended_.insert(launch.seen.key);
    news_.insert(launch.seen.key);
    // Before it is reported: what the controller hears once stays true after any crash of ours.
    append(out, {index_, Ended{launch.seen}}, true);
}

void NodeCore::on_started(const StepdStarted& event, std::vector<Effect>& out) {
    if (!launches_.contains(event.key)) return;
    const Started started{event.key, event.pid, event.start_time};
    started_[event.key] = started;
    append(out, {index_, started}, false);
}

void NodeCore::on_connected(const api::LaunchKey& key, std::vector<Effect>& out) const {
    const auto found = launches_.find(key);
    if (found == launches_.end() || !found->second.desired) return;
    if (found->second.seen.phase == Phase::Ended) return;
    out.emplace_back(TellStepd{index_, *found->second.desired});
}

void NodeCore::on_observed(const api::ObservedRun& run, std::vector<Effect>& out) {
    const auto found = launches_.find(run.key);
    const std::optional<LaunchEvent> event = event_of(run.phase);
    if (found == launches_.end() || !event) return;
    Launch& launch = found->second;
    const std::optional<Phase> to = next(launch.seen.phase, *event);
    if (!to) return;
    if (*to == Phase::Ended) return end(launch, run, out);
    launch.seen = run;
    launch.seen.phase = *to;
    if (*to == Phase::Running) launch.may_have_run = true;
    news_.insert(run.key);
}

void NodeCore::on_gone(const StepdGone& event, Now now, std::vector<Effect>& out) {
    const auto found = launches_.find(event.key);
    if (found == launches_.end()) return;
    Launch& launch = found->second;
    if (!next(launch.seen.phase, LaunchEvent::StepdLost)) return;
    const bool unstarted = event.never_started || !launch.may_have_run;
    api::ObservedRun run = ended_run(
        event.key,
        {.kind = unstarted ? EndKind::LaunchFailed : EndKind::NodeFailed, .detail = event.detail},
        now);
    run.address = launch.seen.address;
    run.started_wall = launch.seen.started_wall;
    run.has_batch = launch.order.grant_index == 0 && !unstarted;
    end(launch, std::move(run), out);
}

void NodeCore::on_step(const api::StepRecord& record) {
    const auto found = launches_.find(record.key);
    if (found == launches_.end()) return;
    api::StepRecord& held = found->second.steps[record.step];
    if (held == record) return;
    held = record;
    step_news_.insert({record.key, record.step});
}

}  // namespace twinyard::agent
