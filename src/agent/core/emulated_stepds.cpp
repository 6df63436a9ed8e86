#include "agent/core/emulated_stepds.h"

#include <algorithm>
#include <utility>

namespace twinyard::agent {
namespace {

using api::Phase;
using model::EndKind;

constexpr std::int32_t kTerm = 15;
constexpr std::int32_t kKill = 9;

EndKind kind_of(api::StopReason reason) {
    switch (reason) {
        case api::StopReason::TimeLimit:
            return EndKind::TimeLimit;
        case api::StopReason::Preempted:
            return EndKind::Preempted;
        case api::StopReason::NodeDown:
            return EndKind::NodeFailed;
        case api::StopReason::LaunchFailed:
            return EndKind::LaunchFailed;
        case api::StopReason::None:
        case api::StopReason::Cancelled:
        case api::StopReason::GangEnded:
        case api::StopReason::Shutdown:
            break;
    }
    return EndKind::Cancelled;
}

model::Outcome outcome_of_exit(std::int32_t code) {
    return {.kind = code == 0 ? EndKind::Completed : EndKind::Failed, .exit_code = code};
}

}  // namespace

void EmulatedStepds::perform(const Effect& effect, Now now, std::vector<Event>& events) {
    if (const auto* begun = std::get_if<StartStepd>(&effect)) return start(*begun, events);
    if (const auto* told = std::get_if<TellStepd>(&effect)) return tell(*told, now, events);
    if (const auto* sent = std::get_if<SignalStepd>(&effect)) return signal(*sent, now, events);
    const auto* adopt = std::get_if<AdoptStepd>(&effect);
    if (adopt == nullptr) return;
    const Name name{adopt->node, adopt->order.key};
    const auto found = runs_.find(name);
    if (found == runs_.end()) {
        events.emplace_back(
            StepdGone{adopt->node, name.second, false, "the emulator was restarted"});
        return;
    }
    events.emplace_back(StepdConnected{name.first, name.second});
    events.emplace_back(StepdObserved{name.first, found->second.seen});
}

void EmulatedStepds::start(const StartStepd& effect, std::vector<Event>& events) {
    const Name name{effect.node, effect.order.key};
    Run& run = runs_[name];
    run.order = effect.order;
    run.seen.key = effect.order.key;
    run.seen.phase = Phase::Ready;
    run.seen.has_batch = effect.order.grant_index == 0;
    events.emplace_back(StepdObserved{name.first, run.seen});
}

void EmulatedStepds::tell(const TellStepd& effect, Now now, std::vector<Event>& events) {
    const Name name{effect.node, effect.run.launch.key};
    const auto found = runs_.find(name);
    if (found == runs_.end()) return;
    Run& run = found->second;
    if (effect.run.stage == api::Stage::Stop) {
        model::Outcome outcome{.kind = kind_of(effect.run.reason),
                               .signal = run.seen.phase == Phase::Running ? kTerm : 0,
                               .by_uid = effect.run.by_uid};
        return end(name, std::move(outcome), now, events);
    }
    run.order.time_limit = effect.run.launch.time_limit;
    if (effect.run.stage == api::Stage::Go && run.seen.phase == Phase::Ready) {
        run.seen.phase = Phase::Running;
        run.seen.started_wall = now.wall;
        run.began = now.boot;
        events.emplace_back(StepdObserved{name.first, run.seen});
    }
    if (run.seen.phase == Phase::Running) schedule(name, run);
}

void EmulatedStepds::schedule(const Name& name, Run& run) {
    if (run.due) due_.erase({*run.due, name.first, name.second});
    run.due.reset();
    const std::optional<Millis>& limit = run.order.time_limit;
    std::optional<Millis> length;
    if (run.order.grant_index == 0) {
        length = run.order.emulated_runtime.value_or(
            std::min(limit.value_or(kEmulatedRuntimeMax), kEmulatedRuntimeMax));
    }
    run.due_is_limit = limit && (!length || *limit < *length);
    if (run.due_is_limit) length = limit;
    if (!length) return;
    run.due = run.began + *length;
    due_.insert({*run.due, name.first, name.second});
}

/// As a program without handlers would take it.
void EmulatedStepds::signal(const SignalStepd& effect, Now now, std::vector<Event>& events) {
    const Name name{effect.node, effect.order.key};
    const auto found = runs_.find(name);
    const bool deadly = effect.order.signal == kTerm || effect.order.signal == kKill;
    if (found == runs_.end() || !deadly || found->second.seen.phase != Phase::Running) return;
    end(name, {.kind = EndKind::Failed, .signal = effect.order.signal}, now, events);
}

void EmulatedStepds::end(const Name& name,
                         model::Outcome outcome,
                         Now now,
                         std::vector<Event>& events) {
    const auto found = runs_.find(name);
    Run& run = found->second;
    if (run.due) due_.erase({*run.due, name.first, name.second});
    run.seen.phase = Phase::Ended;
    run.seen.outcome = std::move(outcome);
    run.seen.ended_wall = now.wall;
    events.emplace_back(StepdObserved{name.first, std::move(run.seen)});
    runs_.erase(found);
}

void EmulatedStepds::advance(Now now, std::vector<Event>& events) {
    while (!due_.empty() && std::get<0>(*due_.begin()) <= now.boot) {
        const auto [at, node, key] = *due_.begin();
        const Name name{node, key};
        const Run& run = runs_.at(name);
        model::Outcome outcome = run.due_is_limit ? model::Outcome{.kind = EndKind::TimeLimit}
                                                  : outcome_of_exit(run.order.emulated_exit);
        end(name, std::move(outcome), now, events);
    }
}

std::optional<Millis> EmulatedStepds::next_due() const {
    if (due_.empty()) return std::nullopt;
    return std::get<0>(*due_.begin());
}

}  // namespace twinyard::agent
