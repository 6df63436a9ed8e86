#include "step/core/launch.h"

#include <algorithm>

namespace twinyard::step {

namespace {

// Numbers of Linux; this core includes no system header.
constexpr std::int32_t kSigTerm = 15;
constexpr std::int32_t kSigCont = 18;

Effect effect(Effect::Kind kind) {
    return {.kind = kind};
}

Effect send(api::SignalScope scope, std::int32_t signal) {
    return {.kind = Effect::Kind::Signal, .scope = scope, .signal = signal};
}

Effects kill_all() {
    return {effect(Effect::Kind::KillAll), effect(Effect::Kind::Publish)};
}

api::Phase phase_of(RunState state) {
    switch (state) {
        case RunState::Preparing:
            return api::Phase::Preparing;
        case RunState::Ready:
            return api::Phase::Ready;
        case RunState::Running:
            return api::Phase::Running;
        case RunState::Stopping:
        case RunState::Killing:
            return api::Phase::Ending;
        case RunState::Ended:
            return api::Phase::Ended;
    }
    return api::Phase::Ended;
}

}  // namespace

model::EndKind end_kind(api::StopReason reason,
                        const std::optional<ProcessEnd>& shell,
                        std::uint64_t oom_kills) {
    switch (reason) {
        case api::StopReason::Cancelled:
        case api::StopReason::Shutdown:
            return model::EndKind::Cancelled;
        case api::StopReason::TimeLimit:
            return model::EndKind::TimeLimit;
        case api::StopReason::Preempted:
            return model::EndKind::Preempted;
        case api::StopReason::NodeDown:
            return model::EndKind::NodeFailed;
        case api::StopReason::LaunchFailed:
            return model::EndKind::LaunchFailed;
        case api::StopReason::GangEnded:
        case api::StopReason::None:
            break;
    }
    if (oom_kills > 0) return model::EndKind::OutOfMemory;
    const bool good = !shell || *shell == ProcessEnd{};
    return good ? model::EndKind::Completed : model::EndKind::Failed;
}

Launch::Launch(api::LaunchOrder order, bool has_batch)
    : order_(std::move(order)), has_batch_(has_batch) {}

bool Launch::move(RunEvent event) {
    const std::optional<RunState> to = next(state_, event);
    if (to) state_ = *to;
    return to.has_value();
}

Effects Launch::prepared() {
    if (!move(RunEvent::Prepared)) return {};
    return {effect(Effect::Kind::Publish)};
}

Effects Launch::prepare_failed(std::string why) {
    if (!move(RunEvent::PrepareFailed)) return {};
    failed_ = model::EndKind::LaunchFailed;
    why_ = std::move(why);
    return kill_all();
}

Effects Launch::ordered(const api::DesiredRun& run, Millis now) {
    kill_wait_ = run.kill_wait;
    if (run.stage == api::Stage::Stop) return stop(run, now);
    take_limit(run, now);
    if (run.stage == api::Stage::Prepare) return {};
    return go(run, now);
}

void Launch::take_limit(const api::DesiredRun& run, Millis now) {
    order_.time_limit = run.launch.time_limit;
    const auto& warning = order_.launch.end_warning;
    if (!warning || !started_) return;
    // A limit that moved away is warned of again; one that is as near as before is not.
    warned_ =
        warned_ && order_.time_limit && now >= *started_ + *order_.time_limit - warning->before_end;
}

Effects Launch::go(const api::DesiredRun& run, Millis now) {
    if (!move(RunEvent::Go)) return {};
    order_.gang = run.launch.gang;
    order_.started_wall = run.launch.started_wall;
    started_ = now;
    ran_ = true;
    started_wall_ = order_.started_wall;
    if (!has_batch_) return {effect(Effect::Kind::Publish)};
    return {effect(Effect::Kind::StartBatch), effect(Effect::Kind::Publish)};
}

Effects Launch::stop(const api::DesiredRun& run, Millis now) {
    if (state_ == RunState::Running) {
        by_uid_ = run.by_uid;
        return begin_stopping(run.reason, now);
    }
    if (state_ == RunState::Stopping) {
        // An impatient order may bring the end forward, never put it off.
        kill_due_ = std::min(*kill_due_, now + run.kill_wait);
        return {};
    }
    if (!move(RunEvent::StopOrdered)) return {};
    reason_ = run.reason;
    by_uid_ = run.by_uid;
    return kill_all();
}

Effects Launch::begin_stopping(api::StopReason reason, Millis now) {
    const bool by_limit = reason == api::StopReason::TimeLimit;
    if (!move(by_limit ? RunEvent::LimitReached : RunEvent::StopOrdered)) return {};
    reason_ = reason;
    kill_due_ = now + kill_wait_;
    return {Effect{.kind = Effect::Kind::SayEnding, .reason = reason},
            send(api::SignalScope::All, kSigCont),
            send(api::SignalScope::All, kSigTerm),
            effect(Effect::Kind::WatchEmpty),
            effect(Effect::Kind::Publish)};
}

Effects Launch::signal_ordered(const api::SignalOrder& order) const {
    const bool there = state_ == RunState::Running || state_ == RunState::Stopping;
    if (!there) return {};
    return {send(order.scope, order.signal)};
}

void Launch::batch_started(WallTime wall) {
    shell_runs_ = true;
    if (started_wall_ == WallTime{}) started_wall_ = wall;
}

Effects Launch::start_failed(ProcessEnd end, std::string why) {
    if (!move(RunEvent::StartFailed)) return {};
    failed_ = model::EndKind::Failed;
    shell_end_ = end;
    why_ = std::move(why);
    return kill_all();
}

Effects Launch::shell_ended(ProcessEnd end, std::uint64_t oom_kills) {
    shell_runs_ = false;
    shell_end_ = end;
    oom_kills_ = oom_kills;
    const bool was_running = state_ == RunState::Running;
    if (!move(RunEvent::ShellEnded)) return {};
    return was_running ? kill_all() : Effects{};
}

Effects Launch::emptied(WallTime wall) {
    if (shell_runs_ || !move(RunEvent::Emptied)) return {};
    ended_wall_ = wall;
    return {effect(Effect::Kind::WriteExit)};
}

Effects Launch::tick(Millis now) {
    if (state_ == RunState::Stopping && now >= *kill_due_) {
        [[maybe_unused]] const bool moved = move(RunEvent::KillDue);
        return kill_all();
    }
    if (state_ != RunState::Running || !order_.time_limit) return {};
    const Millis end = *started_ + *order_.time_limit;
    if (now >= end) return begin_stopping(api::StopReason::TimeLimit, now);
    const auto& warning = order_.launch.end_warning;
    if (!warning || warned_ || now < end - warning->before_end) return {};
    warned_ = true;
    return {send(warning->batch_shell_only ? api::SignalScope::BatchShell : api::SignalScope::Steps,
                 warning->signal)};
}

std::optional<Millis> Launch::next_wakeup() const {
    if (state_ == RunState::Stopping) return kill_due_;
    if (state_ != RunState::Running || !order_.time_limit) return std::nullopt;
    const Millis end = *started_ + *order_.time_limit;
    const auto& warning = order_.launch.end_warning;
    return warning && !warned_ ? end - warning->before_end : end;
}

model::Outcome Launch::outcome() const {
    model::Outcome out;
    const bool kept = reason_ == api::StopReason::None || reason_ == api::StopReason::GangEnded;
    out.kind = failed_ && kept ? *failed_ : end_kind(reason_, shell_end_, oom_kills_);
    if (shell_end_) {
        out.exit_code = shell_end_->exit_code;
        out.signal = shell_end_->signal;
    }
    if (out.kind == model::EndKind::Cancelled) out.by_uid = by_uid_;
    out.detail = why_;
    return out;
}

api::ObservedRun Launch::observed() const {
    api::ObservedRun run;
    run.key = order_.key;
    run.phase = phase_of(state_);
    run.has_batch = has_batch_;
    run.started_wall = started_wall_;
    run.ended_wall = ended_wall_;
    if (state_ == RunState::Ended) run.outcome = outcome();
    return run;
}

}  // namespace twinyard::step
