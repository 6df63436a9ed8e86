#include "sched/index.h"

#include <gtest/gtest.h>

#include <string>

#include "sched/testing.h"

namespace twinyard::sched {
namespace {

using model::testing::Words;
using testing::Dice;
using testing::Yard;

const char* const kCluster =
    "node n[1-4] cpus=8 threads=2 gpus=h100:4 mem=64G features=a\n"
    "node n[5-6] cpus=8 gpus=a100:2 mem=32G\n"
    "partition p nodes=all\n"
    "partition q nodes=n[1-2,5] tier=2\n"
    "running 3 in=p on=n[1-2] gpus=h100:1\n"
    "job 4 in=p,q nodes=2 gpus=1 time=1h\n"
    "job 5 in=p nodes=2 gpus=1 time=1h\n";

model::WorkloadSpec spec_of(const std::string& line) {
    const Words words(line);
    model::WorkloadSpec spec;
    spec.partitions = model::testing::split(words.text("in"), ',');
    spec.groups.push_back(model::testing::group(words));
    spec.uid = words.count("user", 1000);
    spec.time_limit = model::testing::duration(words.text("time", "1h"));
    return spec;
}

/// One random thing that can happen to a cluster.
void happen(Yard& yard, Dice& dice, std::uint64_t& last_id) {
    const char* const requests[] = {"in=p n=3 c=2 mem=1G",
                                    "in=q,p nodes=1 gpus=h100:1",
                                    "in=p nodes=2 gpus=1 share=user user=7",
                                    "in=p nodes=1 share=node take=cpus,memory,devices"};
    std::vector<model::WorkloadPtr> all;
    yard.snapshot.workloads.for_each(
        [&](std::uint64_t, const model::WorkloadPtr& each) { all.push_back(each); });
    const model::WorkloadPtr any =
        all.empty() ? nullptr : all[dice.roll(static_cast<std::uint32_t>(all.size()))];
    const model::NodePtr node = *yard.snapshot.nodes.find(1 + dice.roll(6));
    auto changed_node = std::make_shared<model::Node>(*node);
    switch (dice.roll(9)) {
        case 0:
        case 1:
        case 2:
            yard.submit(++last_id, spec_of(requests[dice.roll(4)]));
            return;
        case 3:
            // The index may not have followed yet: what is stale is refused.
            for (const model::PlannedStart& start : yard.pass().starts)
                static_cast<void>(yard.apply(start));
            return;
        case 4:
            if (any != nullptr && any->placement != nullptr) yard.finish(any->id);
            return;
        case 5: {
            if (any == nullptr || any->placement != nullptr) return;
            auto changed = std::make_shared<model::Workload>(*any);
            changed->status.hold = model::Hold::User;
            if (dice.once_in(2))
                changed->spec =
                    std::make_shared<const model::WorkloadSpec>(spec_of(requests[dice.roll(4)]));
            yard.put(any->id, std::move(changed));
            return;
        }
        case 6:
            changed_node->drain = !node->drain;
            break;
        case 7:
            changed_node->capacity.devices[0].healthy = dice.once_in(2);
            break;
        default:
            if (!dice.once_in(4)) return;
            changed_node->labels = {{dice.once_in(2) ? "b" : "c", ""}};
            break;
    }
    yard.put(changed_node);
}

TEST(Index, FollowingChangesEqualsAFreshBuild) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        Yard yard(kCluster);
        std::uint64_t last_id = 10;
        for (int step = 0; step < 60; ++step) {
            for (std::uint32_t i = dice.roll(3); i < 3; ++i)
                happen(yard, dice, last_id);
            yard.follow();
            Yard fresh = yard;
            fresh.index = Index::build(yard.snapshot);
            ASSERT_EQ(yard.index == fresh.index, true) << "step " << step;
            const model::Plan planned = yard.pass(), again = fresh.pass();
            ASSERT_EQ(planned.starts, again.starts) << "step " << step;
            ASSERT_EQ(planned.reserved, again.reserved) << "step " << step;
        }
    }
}

TEST(Index, SeesTheSameUseAsTheLedger) {
    Dice dice(99);
    Yard yard(kCluster);
    std::uint64_t last_id = 10;
    for (int step = 0; step < 200; ++step) {
        happen(yard, dice, last_id);
        yard.follow();
    }
    for (const NodeRow& row : yard.index.nodes()) {
        const model::NodeUse* use = yard.snapshot.uses.find(row.node->id.value());
        EXPECT_EQ(row.use, use == nullptr ? model::NodeUse{} : *use) << row.node->name;
    }
}

TEST(Index, DifferentStatesAreNotEqual) {
    const Yard yard(kCluster);
    Yard other(kCluster);
    EXPECT_EQ(yard.index == other.index, true);
    other.put(model::WorkloadId{4}, nullptr);
    other.follow();
    EXPECT_EQ(yard.index == other.index, false);
}

TEST(Index, EqualRequestsShareAShapeAndTimeLimitsPartThem) {
    Yard yard(kCluster);
    EXPECT_EQ(yard.index.shape_count(), 2U);  // Jobs 4 and 5 name different partitions.
    yard.submit(6, spec_of("in=p nodes=2 gpus=1 time=1h"));
    yard.follow();
    EXPECT_EQ(yard.index.shape_count(), 2U);
    yard.submit(7, spec_of("in=p nodes=2 gpus=1 time=2h"));
    yard.follow();
    EXPECT_EQ(yard.index.shape_count(), 3U);
}

TEST(Index, NodesWhoseMembersEndedAreFreeBeforeTheRestIs) {
    Yard yard(kCluster);
    auto ending =
        std::make_shared<model::Workload>(*model::find(yard.snapshot, model::WorkloadId{3}));
    ending->status.state = model::WorkloadState::Completing;
    ending->status.runs[0].state = model::MemberState::Ended;
    yard.put(ending->id, ending);
    yard.follow();
    EXPECT_EQ(yard.index.nodes()[0].use, model::NodeUse{});
    EXPECT_EQ(yard.index.nodes()[1].use.grants, 1U);
    EXPECT_EQ(yard.index == Index::build(yard.snapshot), true);
    yard.put(ending->id, nullptr);
    yard.follow();
    EXPECT_EQ(yard.index.nodes()[1].use, model::NodeUse{});
}

TEST(Index, FencedGrantsAreHeldWhileTheWorkloadWaitsAgain) {
    Yard yard(kCluster);
    auto fenced =
        std::make_shared<model::Workload>(*model::find(yard.snapshot, model::WorkloadId{3}));
    for (const model::NodeGrant& grant : fenced->placement->grants)
        fenced->status.fenced.push_back(model::FencedGrant{1, grant});
    fenced->placement = nullptr;
    fenced->status.state = model::WorkloadState::Pending;
    yard.put(fenced->id, fenced);
    yard.follow();
    EXPECT_EQ(yard.index.pending().size(), 3U);
    EXPECT_EQ(yard.index.nodes()[0].use.grants, 1U);
    EXPECT_EQ(yard.index == Index::build(yard.snapshot), true);
}

TEST(Index, TellsWhatAChangeCanMeanForTheNextPlan) {
    Yard yard(kCluster);
    using News = Index::News;
    const auto workload = [&](std::uint64_t id) {
        return model::Workload(*model::find(yard.snapshot, model::WorkloadId{id}));
    };
    const auto news = [&](std::uint64_t id, const model::Workload& now) {
        return yard.index.news_of(model::WorkloadChange{
            model::WorkloadId{id}, std::make_shared<const model::Workload>(now)});
    };
    const auto gone = [&](std::uint64_t id) {
        return yard.index.news_of(model::WorkloadChange{model::WorkloadId{id}, nullptr});
    };

    EXPECT_EQ(news(9, workload(4)), News::NewPending);
    model::Workload held = workload(4);
    held.status.hold = model::Hold::User;
    EXPECT_EQ(news(9, held), News::None);
    EXPECT_EQ(news(4, workload(4)), News::Other) << "released, or its priority changed";
    model::Workload started = workload(4);
    started.placement = workload(3).placement;
    started.status.state = model::WorkloadState::Starting;
    EXPECT_EQ(news(4, started), News::None);

    model::Workload later = workload(3);
    ++later.revision;
    EXPECT_EQ(news(3, later), News::None) << "it holds what it held";
    later.status.state = model::WorkloadState::Done;
    EXPECT_EQ(news(3, later), News::Other);
    EXPECT_EQ(gone(3), News::Other);
    EXPECT_EQ(gone(4), News::Other);
    EXPECT_EQ(gone(9), News::None) << "neither waited nor held anything";

    const model::NodePtr node = *yard.snapshot.nodes.find(1);
    EXPECT_EQ(yard.index.news_of(model::NodeChange{node->id, node}), News::Other);
}

}  // namespace
}  // namespace twinyard::sched
