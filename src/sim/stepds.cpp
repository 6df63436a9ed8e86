#include "sim/stepds.h"

#include <algorithm>

namespace twinyard::sim {
namespace {

using agent::Event;
using api::Phase;
using api::Stage;
using model::EndKind;
using model::Outcome;

constexpr Millis kPrologMax{400};
constexpr Millis kEndMax{1'500};
constexpr Millis kRuntimeDefault{60'000};

Outcome outcome_of_stop(api::StopReason reason, std::uint32_t by_uid) {
    switch (reason) {
        case api::StopReason::TimeLimit:
            return {.kind = EndKind::TimeLimit, .signal = 15};
        case api::StopReason::Preempted:
            return {.kind = EndKind::Preempted, .signal = 15};
        case api::StopReason::NodeDown:
            return {.kind = EndKind::NodeFailed, .signal = 15};
        case api::StopReason::LaunchFailed:
            return {.kind = EndKind::LaunchFailed};
        default:
            return {.kind = EndKind::Cancelled, .signal = 15, .by_uid = by_uid};
    }
}

Outcome outcome_of_exit(std::int32_t code) {
    return {.kind = code == 0 ? EndKind::Completed : EndKind::Failed, .exit_code = code};
}

bool share_one(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
    return std::ranges::any_of(
        a, [&](std::uint16_t one) { return std::ranges::find(b, one) != b.end(); });
}

}  // namespace

void Stepds::perform(const agent::Effect& effect) {
    if (const auto* one = std::get_if<agent::StartStepd>(&effect)) return start(*one);
    if (const auto* one = std::get_if<agent::AdoptStepd>(&effect)) return adopt(*one);
    if (const auto* one = std::get_if<agent::TellStepd>(&effect)) return tell(*one);
    if (const auto* one = std::get_if<agent::SignalStepd>(&effect)) return signal(*one);
    if (const auto* one = std::get_if<agent::ForgetLocal>(&effect)) return forget(*one);
}

/// Nothing is given twice, nothing runs twice, and only what is durable is started.
void Stepds::check_start(const Name& name, const api::LaunchOrder& order) const {
    const std::string what = "launch " + text_of(name.second) + " on " + nodes_.at(name.first);
    if (!launches_.started.insert({nodes_.at(name.first), name.second}).second)
        world_.fail(what + " was started twice");
    if (!world_.durable.knows_attempt(name.second))
        world_.fail(what + " was started before its record was durable");
    for (const auto& [other, run] : runs_) {
        if (other.first != name.first || !run.live) continue;
        if (share_one(run.order.grant.devices, order.grant.devices))
            world_.fail(what + " got a device that " + text_of(other.second) + " uses");
        if (share_one(run.order.grant.cpus, order.grant.cpus))
            world_.fail(what + " got a cpu that " + text_of(other.second) + " uses");
    }
}

void Stepds::start(const agent::StartStepd& effect) {
    const Name name{effect.node, effect.order.key};
    world_.note("start " + text_of(name.second) + " on " + nodes_.at(name.first));
    check_start(name, effect.order);
    ++launches_.count;
    if (owner_ == 0) owner_ = world_.timeline.new_owner();
    Run& run = runs_[name];
    run = Run{};
    run.order = effect.order;
    run.seen.key = effect.order.key;
    run.seen.has_batch = effect.order.grant_index == 0;
    tell_(agent::StepdStarted{name.first, name.second, 1000, 1});
    if (world_.dice.per_mille(world_.faults.stepd_fails)) return vanish(name, true);
    later(world_.dice.between(Millis{1}, kPrologMax), name, &Stepds::ready);
}

void Stepds::later(Millis delay, const Name& name, void (Stepds::*what)(const Name&)) {
    world_.timeline.in(delay, owner_, [this, name, what] { (this->*what)(name); });
}

void Stepds::ready(const Name& name) {
    const auto found = runs_.find(name);
    if (found == runs_.end() || !found->second.live || found->second.ending) return;
    Run& run = found->second;
    run.seen.phase = Phase::Ready;
    run.seen.address = nodes_.at(name.first) + ":1";
    launches_.ready[{name.second.workload, name.second.attempt}].insert(name.second);
    say(name, run);
}

void Stepds::adopt(const agent::AdoptStepd& effect) {
    const Name name{effect.node, effect.order.key};
    const auto found = runs_.find(name);
    if (found == runs_.end())
        return tell_(agent::StepdGone{name.first, name.second, false, "nothing is left of it"});
    tell_(agent::StepdConnected{name.first, name.second});
    say(name, found->second);
}

void Stepds::say(const Name& name, const Run& run) {
    if (run.step) tell_(agent::StepSeen{name.first, *run.step});
    tell_(agent::StepdObserved{name.first, run.seen});
}

void Stepds::tell(const agent::TellStepd& effect) {
    const Name name{effect.node, effect.run.launch.key};
    const auto found = runs_.find(name);
    if (found == runs_.end() || !found->second.live || found->second.ending) return;
    Run& run = found->second;
    if (effect.run.stage == Stage::Stop)
        return begin_end(name, run, outcome_of_stop(effect.run.reason, effect.run.by_uid));
    run.order.time_limit = effect.run.launch.time_limit;
    if (effect.run.stage == Stage::Go && run.seen.phase == Phase::Ready) go(name, run);
    if (run.seen.phase == Phase::Running) plan_end(name, run);
}

void Stepds::check_go(const api::LaunchOrder& order) const {
    const auto ready = launches_.ready.find({order.key.workload, order.key.attempt});
    const std::size_t count = ready == launches_.ready.end() ? 0 : ready->second.size();
    if (count < order.gang.nodes.size())
        world_.fail("launch " + text_of(order.key) + " goes before its gang is ready");
}

void Stepds::go(const Name& name, Run& run) {
    check_go(run.order);
    world_.note("go " + text_of(name.second));
    run.seen.phase = Phase::Running;
    run.seen.started_wall = world_.wall();
    run.began = world_.timeline.now();
    if (run.order.grant_index == 0) {
        run.step.emplace();
        run.step->key = name.second;
        run.step->name = "step";
        run.step->nodes = {nodes_.at(name.first)};
        run.step->tasks = run.step->cpus = 1;
        run.step->started_wall = world_.wall();
    }
    say(name, run);
}

/// The one that has the script ends with it, the others when they are told to; all at the limit.
void Stepds::plan_end(const Name& name, Run& run) {
    std::optional<Millis> length;
    Outcome outcome;
    if (run.order.grant_index == 0) {
        length = run.order.emulated_runtime.value_or(kRuntimeDefault);
        outcome = outcome_of_exit(run.order.emulated_exit);
    }
    if (run.order.time_limit && (!length || *run.order.time_limit < *length)) {
        length = run.order.time_limit;
        outcome = {.kind = EndKind::TimeLimit, .signal = 15};
    }
    if (!length) return;
    const bool fails = world_.dice.per_mille(world_.faults.stepd_fails);
    if (fails) *length = *length / 2;
    const Millis left = std::max(Millis{1}, run.began + *length - world_.timeline.now());
    world_.timeline.in(left, owner_, [this, name, fails, outcome, plan = ++run.plan] {
        const auto found = runs_.find(name);
        if (found == runs_.end() || found->second.plan != plan || found->second.ending) return;
        if (fails) return vanish(name, false);
        begin_end(name, found->second, outcome);
    });
}

void Stepds::begin_end(const Name& name, Run& run, Outcome outcome) {
    if (run.ending) return;
    run.ending = true;
    const Millis takes = world_.dice.between(Millis{1}, kEndMax);
    world_.timeline.in(takes, owner_, [this, name, outcome] { end(name, outcome); });
}

void Stepds::end(const Name& name, Outcome outcome) {
    const auto found = runs_.find(name);
    if (found == runs_.end() || !found->second.live) return;
    Run& run = found->second;
    world_.note("end " + text_of(name.second) + " as " +
                std::to_string(static_cast<int>(outcome.kind)));
    if (outcome.kind == EndKind::Completed)
        launches_.completed.insert({name.second.workload, name.second.attempt});
    run.live = false;
    run.seen.phase = Phase::Ended;
    run.seen.outcome = std::move(outcome);
    run.seen.ended_wall = world_.wall();
    if (run.step) {
        run.step->ended_wall = world_.wall();
        run.step->outcome = run.seen.outcome;
    }
    say(name, run);
}

void Stepds::vanish(const Name& name, bool never_started) {
    world_.note("vanished " + text_of(name.second));
    runs_.erase(name);
    tell_(agent::StepdGone{name.first, name.second, never_started, "it vanished"});
}

void Stepds::signal(const agent::SignalStepd& effect) {
    const Name name{effect.node, effect.order.key};
    const auto found = runs_.find(name);
    if (found == runs_.end() || !found->second.live) return;
    if (effect.order.signal != 9 || found->second.seen.phase != Phase::Running) return;
    begin_end(name, found->second, {.kind = EndKind::Failed, .signal = 9});
}

void Stepds::forget(const agent::ForgetLocal& effect) {
    const Name name{effect.node, effect.key};
    if (world_.durable.waits_for(effect.key))
        world_.fail("launch " + text_of(effect.key) + " is forgotten before its end is durable");
    const auto found = runs_.find(name);
    if (found == runs_.end()) return;
    if (found->second.live) world_.fail("launch " + text_of(effect.key) + " is forgotten alive");
    runs_.erase(found);
}

void Stepds::sweep(const std::set<Launch>& known) {
    for (const auto& [name, run] : runs_) {
        if (run.live && !known.contains(name))
            world_.fail("the journal has lost launch " + text_of(name.second) + ", which lives");
    }
    std::erase_if(runs_, [&](const auto& entry) { return !known.contains(entry.first); });
}

void Stepds::reboot() {
    if (owner_ != 0) world_.timeline.end(owner_);
    owner_ = world_.timeline.new_owner();
    std::erase_if(runs_, [](const auto& entry) { return entry.second.live; });
}

void Stepds::wipe() {
    reboot();
    runs_.clear();
}

std::size_t Stepds::running() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(runs_, [](const auto& entry) { return entry.second.live; }));
}

}  // namespace twinyard::sim
