#include "controller/shell/lanes.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace twinyard::controller {
namespace {

Item tick() {
    return {.command = api::Tick{}};
}

TEST(Lanes, UrgentLanesComeMoreOftenAndNoneStarves) {
    Lanes lanes;
    for (int i = 0; i < 200; ++i) {
        for (const Lane lane : {Lane::Agents, Lane::Control, Lane::User, Lane::Bulk})
            ASSERT_TRUE(lanes.try_push(lane, tick()));
    }
    std::map<Lane, int> taken;
    for (int i = 0; i < 60; ++i)
        ++taken[lanes.take()->lane];
    EXPECT_GT(taken[Lane::Agents], taken[Lane::User]);
    EXPECT_GT(taken[Lane::User], 0);
    EXPECT_GT(taken[Lane::Bulk], 0);
}

TEST(Lanes, AFullLaneRefusesAndTheOthersGoOn) {
    Lanes lanes;
    int taken = 0;
    while (lanes.try_push(Lane::User, tick()))
        ++taken;
    EXPECT_EQ(taken, 4'096);
    EXPECT_TRUE(lanes.try_push(Lane::Agents, tick()));
    ASSERT_TRUE(lanes.take().has_value());
}

TEST(Lanes, BytesCountToo) {
    Lanes lanes;
    EXPECT_TRUE(lanes.try_push(Lane::User, tick(), std::size_t{60} << 20));
    EXPECT_FALSE(lanes.try_push(Lane::User, tick(), std::size_t{60} << 20));
}

TEST(Lanes, StoreRepliesEndTheWaitEvenWhenItemsAreNotWanted) {
    Lanes lanes;
    ASSERT_TRUE(lanes.try_push(Lane::User, tick()));
    std::thread store([&] { lanes.push_store_reply(7, {}); });
    lanes.wait_until(Lanes::Clock::now() + std::chrono::seconds(60), false);
    store.join();
    EXPECT_EQ(lanes.take_store_reply()->first, 7u);
}

TEST(Lanes, ClosedLanesRefuse) {
    Lanes lanes;
    lanes.close();
    EXPECT_FALSE(lanes.try_push(Lane::Agents, tick()));
}

}  // namespace
}  // namespace twinyard::controller
