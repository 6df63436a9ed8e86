#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/options.h"
#include "sim/runner.h"
#include "sim/timeline.h"

namespace twinyard::sim {
namespace {

TEST(Timeline, InOrderOfTimeThenOfPlanningAndNothingOfTheDead) {
    Timeline timeline;
    std::string seen;
    const Owner dying = timeline.new_owner();
    timeline.in(Millis{5}, 0, [&] { seen += 'c'; });
    timeline.in(Millis{1}, 0, [&] {
        seen += 'a';
        timeline.end(dying);
        timeline.in(Millis{4}, 0, [&] { seen += 'd'; });
    });
    timeline.in(Millis{1}, 0, [&] { seen += 'b'; });
    timeline.in(Millis{2}, dying, [&] { seen += 'x'; });
    while (timeline.step()) {
    }
    EXPECT_EQ(seen, "abcd");
    EXPECT_EQ(timeline.now(), Millis{5});
}

TEST(Options, Table) {
    const struct {
        std::vector<const char*> args;
        bool good;
        std::uint64_t seed;
        PlantedBug bug;
    } cases[] = {
        {{"--seed", "42"}, true, 42, PlantedBug::None},
        {{"--seed=7", "--bug=forget-before-durable"}, true, 7, PlantedBug::ForgetBeforeDurable},
        {{}, true, 0, PlantedBug::None},
        {{"--seed", "x"}, false, 0, PlantedBug::None},
        {{"--seed"}, false, 0, PlantedBug::None},
        {{"--sead", "1"}, false, 0, PlantedBug::None},
        {{"--bug", "none-such"}, false, 0, PlantedBug::None},
    };
    for (const auto& c : cases) {
        const Result<Options> options = parse_options(c.args);
        ASSERT_EQ(options.has_value(), c.good);
        if (!options) continue;
        EXPECT_EQ(options->seed.value_or(0), c.seed);
        EXPECT_EQ(options->bug, c.bug);
    }
}

TEST(Runner, EachMixRunsJobs) {
    for (std::uint64_t seed = 1; seed <= scenarios().size(); ++seed) {
        const RunResult result = run_once(seed);
        EXPECT_EQ(result.failure, "") << report_of(result);
        EXPECT_GT(result.launches, 10U) << result.scenario;
    }
}

/// No engine may tear a transaction; if one did, it would be seen.
TEST(Runner, TornTransactionIsSeen) {
    const Scenario tearing{.name = "tearing store", .faults = {.store_tears = 20}};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        if (!run_with(seed, tearing, PlantedBug::None).failure.empty()) return;
    }
    FAIL() << "nobody saw a transaction that was written by half";
}

}  // namespace
}  // namespace twinyard::sim
