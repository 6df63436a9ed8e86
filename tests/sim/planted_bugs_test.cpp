#include <gtest/gtest.h>

#include <string>

#include "sim/runner.h"

namespace twinyard::sim {
namespace {

/// The seed that finds it; 0: none of the fixed ones does.
std::uint64_t found_by(PlantedBug bug, std::string& how) {
    for (std::uint64_t seed = 1; seed <= kFixedSeeds; ++seed) {
        const RunResult result = run_once(seed, bug);
        how = result.failure;
        if (!how.empty()) return seed;
    }
    return 0;
}

TEST(PlantedBugs, EachIsFoundByTheFixedSeeds) {
    EXPECT_EQ(planted_bugs().size(), 6U);
    for (const PlantedBugName& bug : planted_bugs()) {
        std::string how;
        const std::uint64_t seed = found_by(bug.bug, how);
        EXPECT_NE(seed, 0U) << bug.name << " is missed by the fixed seeds";
        RecordProperty(bug.name, how);
        if (seed == 0) continue;
        // The seed is innocent: without the bug it finds nothing.
        EXPECT_EQ(run_once(seed).failure, "") << "seed " << seed;
    }
}

}  // namespace
}  // namespace twinyard::sim
