#include "agent/core/launch_table.h"

#include <gtest/gtest.h>

namespace twinyard::agent {
namespace {

using api::Phase;

TEST(LaunchTable, EveryCell) {
    constexpr auto kNothing = std::optional<Phase>();
    const struct {
        Phase from;
        // StepdReady, StepdRunning, EndBegun, StepdEnded, StepdLost
        std::array<std::optional<Phase>, 5> to;
    } rows[] = {
        {Phase::Preparing,
         {Phase::Ready, Phase::Running, Phase::Ending, Phase::Ended, Phase::Ended}},
        {Phase::Ready, {kNothing, Phase::Running, Phase::Ending, Phase::Ended, Phase::Ended}},
        {Phase::Running, {kNothing, kNothing, Phase::Ending, Phase::Ended, Phase::Ended}},
        {Phase::Ending, {kNothing, kNothing, kNothing, Phase::Ended, Phase::Ended}},
        {Phase::Ended, {kNothing, kNothing, kNothing, kNothing, kNothing}},
    };
    for (const auto& row : rows) {
        for (std::size_t event = 0; event < row.to.size(); ++event) {
            EXPECT_EQ(next(row.from, static_cast<LaunchEvent>(event)), row.to[event])
                << "phase " << static_cast<int>(row.from) << " event " << event;
        }
    }
}

}  // namespace
}  // namespace twinyard::agent
