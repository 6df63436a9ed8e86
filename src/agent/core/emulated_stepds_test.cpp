#include "agent/core/emulated_stepds.h"

#include <gtest/gtest.h>

#include "agent/core/testing.h"

namespace twinyard::agent {
namespace {

using api::Phase;
using model::EndKind;

constexpr Now kStart{.boot = Millis{10'000}, .wall = WallTime{}};

api::ObservedRun last_run(const std::vector<Event>& events) {
    return std::get<StepdObserved>(events.back()).run;
}

TEST(EmulatedStepds, LastAsLongAsTheOrderSays) {
    const struct {
        const char* name;
        std::optional<Millis> runtime;
        std::optional<Millis> limit;
        std::int32_t exit_code;
        Millis lasts;
        EndKind kind;
    } cases[] = {
        {"its own length", Millis{50}, Millis{100}, 0, Millis{50}, EndKind::Completed},
        {"its own exit code", Millis{50}, std::nullopt, 3, Millis{50}, EndKind::Failed},
        {"longer than its limit", Millis{150}, Millis{100}, 0, Millis{100}, EndKind::TimeLimit},
        {"its limit", std::nullopt, Millis{100}, 0, Millis{100}, EndKind::Completed},
        {"an hour", std::nullopt, Seconds{86'400}, 0, Seconds{3'600}, EndKind::Completed},
        {"an hour without a limit",
         std::nullopt,
         std::nullopt,
         0,
         Seconds{3'600},
         EndKind::Completed},
    };
    for (const auto& c : cases) {
        EmulatedStepds stepds;
        std::vector<Event> events;
        api::DesiredRun run = prepare(key(1));
        run.launch.emulated_runtime = c.runtime;
        run.launch.time_limit = c.limit;
        run.launch.emulated_exit = c.exit_code;
        stepds.perform(StartStepd{0, run.launch}, kStart, events);
        EXPECT_EQ(last_run(events).phase, Phase::Ready) << c.name;
        run.stage = api::Stage::Go;
        stepds.perform(TellStepd{0, run}, kStart, events);
        EXPECT_EQ(last_run(events).phase, Phase::Running) << c.name;
        ASSERT_EQ(stepds.next_due(), kStart.boot + c.lasts) << c.name;
        stepds.advance({kStart.boot + c.lasts - Millis{1}, {}}, events);
        EXPECT_EQ(last_run(events).phase, Phase::Running) << c.name;
        stepds.advance({kStart.boot + c.lasts, {}}, events);
        EXPECT_EQ(last_run(events).phase, Phase::Ended) << c.name;
        EXPECT_EQ(last_run(events).outcome.kind, c.kind) << c.name;
        EXPECT_EQ(last_run(events).outcome.exit_code, c.exit_code) << c.name;
        EXPECT_EQ(stepds.running(), 0U) << c.name;
    }
}

TEST(EmulatedStepds, OnlyThePartWithTheScriptEndsByItself) {
    EmulatedStepds stepds;
    std::vector<Event> events;
    api::DesiredRun run = go(key(1));
    run.launch.grant_index = 1;
    run.launch.emulated_runtime = Millis{50};
    stepds.perform(StartStepd{0, run.launch}, kStart, events);
    stepds.perform(TellStepd{0, run}, kStart, events);
    EXPECT_FALSE(stepds.next_due());
    stepds.perform(TellStepd{0, stop(key(1))}, kStart, events);
    EXPECT_EQ(last_run(events).phase, Phase::Ended);
}

TEST(EmulatedStepds, SignalsThatKill) {
    EmulatedStepds stepds;
    std::vector<Event> events;
    const api::DesiredRun run = go(key(1));
    stepds.perform(StartStepd{0, run.launch}, kStart, events);
    stepds.perform(TellStepd{0, run}, kStart, events);
    stepds.perform(SignalStepd{0, {key(1), 10, api::SignalScope::All}}, kStart, events);
    EXPECT_EQ(last_run(events).phase, Phase::Running);
    stepds.perform(SignalStepd{0, {key(1), 9, api::SignalScope::All}}, kStart, events);
    EXPECT_EQ(last_run(events).outcome.signal, 9);
}

}  // namespace
}  // namespace twinyard::agent
