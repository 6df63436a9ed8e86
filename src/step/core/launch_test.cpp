#include "step/core/launch.h"

#include <gtest/gtest.h>

namespace twinyard::step {
namespace {

using api::SignalScope;
using api::StopReason;
using model::EndKind;
using Kind = Effect::Kind;

constexpr std::array kStates{RunState::Preparing,
                             RunState::Ready,
                             RunState::Running,
                             RunState::Stopping,
                             RunState::Killing,
                             RunState::Ended};

TEST(RunTable, EachCell) {
    using S = RunState;
    constexpr std::optional<RunState> no;
    const struct {
        RunEvent event;
        std::array<std::optional<RunState>, kStates.size()> to;  ///< By kStates.
    } rows[] = {
        {RunEvent::Prepared, {S::Ready, no, no, no, no, no}},
        {RunEvent::PrepareFailed, {S::Killing, no, no, no, no, no}},
        {RunEvent::Go, {no, S::Running, no, no, no, no}},
        {RunEvent::StartFailed, {no, no, S::Killing, no, no, no}},
        {RunEvent::ShellEnded, {no, no, S::Killing, S::Stopping, S::Killing, no}},
        {RunEvent::StopOrdered, {S::Killing, S::Killing, S::Stopping, no, no, no}},
        {RunEvent::LimitReached, {no, no, S::Stopping, no, no, no}},
        {RunEvent::KillDue, {no, no, no, S::Killing, no, no}},
        {RunEvent::Emptied, {no, no, no, S::Ended, S::Ended, no}},
    };
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < kStates.size(); ++i) {
            EXPECT_EQ(next(kStates[i], row.event), row.to[i])
                << "event " << static_cast<int>(row.event) << " in state " << i;
        }
    }
}

api::LaunchOrder order(std::optional<Millis> limit = {}) {
    api::LaunchOrder order;
    order.job = model::JobId(17);
    order.time_limit = limit;
    return order;
}

api::DesiredRun desired(api::Stage stage, api::LaunchOrder launch) {
    api::DesiredRun run;
    run.stage = stage;
    run.launch = std::move(launch);
    run.kill_wait = Millis(30);
    return run;
}

api::DesiredRun stop(StopReason reason, Millis kill_wait = Millis(30)) {
    api::DesiredRun run = desired(api::Stage::Stop, {});
    run.reason = reason;
    run.by_uid = 7;
    run.kill_wait = kill_wait;
    return run;
}

Launch running(const api::LaunchOrder& launch_order, Millis now, bool has_batch = true) {
    Launch launch(launch_order, has_batch);
    (void)launch.prepared();
    (void)launch.ordered(desired(api::Stage::Go, launch_order), now);
    if (has_batch) launch.batch_started(WallTime(Millis(5)));
    return launch;
}

std::vector<Kind> kinds(const Effects& effects) {
    std::vector<Kind> out;
    for (const Effect& effect : effects)
        out.push_back(effect.kind);
    return out;
}

TEST(Launch, GoStartsTheScriptOnceAndOnlyWhereThereIsOne) {
    Launch first(order(), true);
    EXPECT_TRUE(first.ordered(desired(api::Stage::Go, order()), Millis(1)).empty()) << "too early";
    EXPECT_EQ(kinds(first.prepared()), std::vector{Kind::Publish});
    EXPECT_TRUE(first.ordered(desired(api::Stage::Prepare, order()), Millis(1)).empty());
    EXPECT_EQ(kinds(first.ordered(desired(api::Stage::Go, order()), Millis(1))),
              (std::vector{Kind::StartBatch, Kind::Publish}));
    EXPECT_TRUE(first.ordered(desired(api::Stage::Go, order()), Millis(2)).empty());

    Launch other(order(), false);
    (void)other.prepared();
    EXPECT_EQ(kinds(other.ordered(desired(api::Stage::Go, order()), Millis(1))),
              std::vector{Kind::Publish});
}

TEST(Launch, StopSaysWhyThenContTermAndKillWhenDue) {
    Launch launch = running(order(), Millis(100));
    const Effects effects = launch.ordered(stop(StopReason::Cancelled), Millis(200));
    ASSERT_EQ(kinds(effects),
              (std::vector{
                  Kind::SayEnding, Kind::Signal, Kind::Signal, Kind::WatchEmpty, Kind::Publish}));
    EXPECT_EQ(effects[0].reason, StopReason::Cancelled);
    EXPECT_EQ(effects[1].signal, 18);
    EXPECT_EQ(effects[2].signal, 15);
    EXPECT_EQ(effects[2].scope, SignalScope::All);
    EXPECT_EQ(launch.next_wakeup(), Millis(230));
    EXPECT_TRUE(launch.ordered(stop(StopReason::TimeLimit, Millis(90)), Millis(201)).empty());
    EXPECT_EQ(launch.next_wakeup(), Millis(230)) << "never put off";
    (void)launch.ordered(stop(StopReason::Cancelled, Millis(5)), Millis(210));
    EXPECT_EQ(launch.next_wakeup(), Millis(215)) << "brought forward";
    EXPECT_TRUE(launch.tick(Millis(214)).empty());
    EXPECT_EQ(kinds(launch.tick(Millis(215))), (std::vector{Kind::KillAll, Kind::Publish}));
    EXPECT_TRUE(launch.emptied({}).empty()) << "the shell's end is not known yet";
    (void)launch.shell_ended({.signal = 9}, 0);
    EXPECT_EQ(kinds(launch.emptied({})), std::vector{Kind::WriteExit});
    EXPECT_EQ(launch.observed().outcome,
              (model::Outcome{.kind = EndKind::Cancelled, .signal = 9, .by_uid = 7}));
}

TEST(Launch, StopBeforeGoEndsWithoutHavingRun) {
    for (const bool ready : {false, true}) {
        Launch launch(order(), true);
        if (ready) (void)launch.prepared();
        EXPECT_EQ(kinds(launch.ordered(stop(StopReason::Cancelled), Millis(1))),
                  (std::vector{Kind::KillAll, Kind::Publish}));
        EXPECT_EQ(kinds(launch.emptied({})), std::vector{Kind::WriteExit});
        EXPECT_EQ(launch.observed().outcome,
                  (model::Outcome{.kind = EndKind::Cancelled, .by_uid = 7}));
        EXPECT_EQ(launch.observed().started_wall, WallTime{});
    }
}

TEST(Launch, LimitsAndWarnings) {
    api::LaunchOrder launch_order = order(Millis(1'000));
    launch_order.launch.end_warning =
        model::EndWarning{.signal = 10, .before_end = Millis(300), .batch_shell_only = true};
    Launch launch = running(launch_order, Millis(50));
    EXPECT_EQ(launch.next_wakeup(), Millis(750));
    EXPECT_TRUE(launch.tick(Millis(749)).empty());
    const Effects warning = launch.tick(Millis(750));
    ASSERT_EQ(kinds(warning), std::vector{Kind::Signal});
    EXPECT_EQ(warning[0].scope, SignalScope::BatchShell);
    EXPECT_EQ(warning[0].signal, 10);
    EXPECT_EQ(launch.next_wakeup(), Millis(1'050));
    launch_order.time_limit = Millis(2'000);
    (void)launch.ordered(desired(api::Stage::Go, launch_order), Millis(800));
    EXPECT_EQ(launch.next_wakeup(), Millis(1'750)) << "warned of the new end as well";
    launch_order.time_limit.reset();
    (void)launch.ordered(desired(api::Stage::Go, launch_order), Millis(801));
    EXPECT_EQ(launch.next_wakeup(), std::nullopt);
    launch_order.time_limit = Millis(100);
    (void)launch.ordered(desired(api::Stage::Go, launch_order), Millis(802));
    EXPECT_EQ(kinds(launch.tick(Millis(802))).front(), Kind::SayEnding) << "counts at once";
    EXPECT_EQ(launch.reason(), StopReason::TimeLimit);
    EXPECT_EQ(launch.state(), RunState::Stopping);
}

TEST(Launch, SignalsOnlyWhileSomethingRuns) {
    Launch launch(order(), true);
    const api::SignalOrder usr1{.signal = 10, .scope = SignalScope::Steps};
    (void)launch.prepared();
    EXPECT_TRUE(launch.signal_ordered(usr1).empty());
    (void)launch.ordered(desired(api::Stage::Go, order()), Millis(1));
    ASSERT_EQ(launch.signal_ordered(usr1).size(), 1U);
    EXPECT_EQ(launch.signal_ordered(usr1)[0].scope, SignalScope::Steps);
}

TEST(Launch, FailuresToStart) {
    Launch prepare(order(), true);
    (void)prepare.prepare_failed("no container");
    (void)prepare.emptied({});
    EXPECT_EQ(prepare.observed().outcome,
              (model::Outcome{.kind = EndKind::LaunchFailed, .detail = "no container"}));

    Launch files(order(), true);
    (void)files.prepared();
    (void)files.ordered(desired(api::Stage::Go, order()), Millis(1));
    (void)files.start_failed({.signal = 53}, "denied");
    (void)files.emptied({});
    EXPECT_EQ(files.observed().outcome,
              (model::Outcome{.kind = EndKind::Failed, .signal = 53, .detail = "denied"}));
}

TEST(EndKind, Table) {
    const ProcessEnd good{};
    const ProcessEnd bad{.exit_code = 3};
    const struct {
        StopReason reason;
        std::optional<ProcessEnd> shell;
        std::uint64_t oom_kills;
        EndKind want;
    } cases[] = {
        {StopReason::None, good, 0, EndKind::Completed},
        {StopReason::None, bad, 0, EndKind::Failed},
        {StopReason::None, ProcessEnd{.signal = 9}, 1, EndKind::OutOfMemory},
        {StopReason::Cancelled, good, 0, EndKind::Cancelled},
        {StopReason::TimeLimit, bad, 0, EndKind::TimeLimit},
        {StopReason::Preempted, bad, 0, EndKind::Preempted},
        {StopReason::GangEnded, std::nullopt, 0, EndKind::Completed},
        {StopReason::NodeDown, bad, 0, EndKind::NodeFailed},
        {StopReason::LaunchFailed, std::nullopt, 0, EndKind::LaunchFailed},
        {StopReason::Shutdown, bad, 0, EndKind::Cancelled},
    };
    for (const auto& c : cases)
        EXPECT_EQ(end_kind(c.reason, c.shell, c.oom_kills), c.want) << static_cast<int>(c.reason);
}

}  // namespace
}  // namespace twinyard::step
