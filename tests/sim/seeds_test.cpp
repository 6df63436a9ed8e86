#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "sim/runner.h"

namespace twinyard::sim {
namespace {

std::vector<std::uint64_t> seeds_of_this_run() {
    std::vector<std::uint64_t> seeds(kFixedSeeds);
    std::iota(seeds.begin(), seeds.end(), std::uint64_t{1});
    seeds.insert(seeds.end(), kept_seeds().begin(), kept_seeds().end());
    return seeds;
}

TEST(Seeds, NothingIsLostOrGivenTwiceAndEverythingEnds) {
    std::uint64_t launches = 0;
    std::uint64_t controllers = 0;
    for (const std::uint64_t seed : seeds_of_this_run()) {
        const RunResult result = run_twice(seed);
        ASSERT_EQ(result.failure, "") << report_of(result);
        launches += result.launches;
        controllers += result.controllers;
    }
    // Faults that stop everything would hide everything.
    EXPECT_GT(launches, 20 * kFixedSeeds);
    EXPECT_GT(controllers, 2 * kFixedSeeds);
}

}  // namespace
}  // namespace twinyard::sim
