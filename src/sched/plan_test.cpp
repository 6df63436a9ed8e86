#include "sched/plan.h"

#include <gtest/gtest.h>

#include <string>

#include "model/testing.h"
#include "sched/forecast.h"

namespace twinyard::sched {
namespace {

using model::testing::ClusterText;

constexpr ClusterTime kNow = ClusterText::kNow;
constexpr WallTime kWall = ClusterText::kWall;

/// The acceptance case: 64 nodes, a running 64-GPU job, five that wait.
std::string acceptance(const std::string& policy) {
    return "node node[001-064] cpus=1 gpus=h100:8\n"
           "partition train nodes=all max=7d tier=10\n"
           "partition debug nodes=node[001-008] max=1h tier=100\n"
           "partition inference nodes=all tier=5\n"
           "partition long nodes=all max=30d tier=1\n"
           "policy " +
           policy +
           "\n"
           "running 9 in=train on=node[001-008] gpus=h100:8 left=4d\n"
           "job 11 in=train nodes=1 gpus=h100:8 time=2h\n"
           "job 12 in=train nodes=64 gpus=h100:8 time=5d\n"
           "job 13 in=inference nodes=1 gpus=h100:4\n"
           "job 14 in=train nodes=16 gpus=h100:8 time=3d\n"
           "job 15 in=long nodes=64 gpus=h100:8 time=15d\n";
}

std::vector<std::uint64_t> started(const model::Plan& plan) {
    std::vector<std::uint64_t> ids;
    for (const model::PlannedStart& start : plan.starts)
        ids.push_back(start.workload.value());
    return ids;
}

/// Hours from now to each predicted start, -1 for none.
std::map<std::uint64_t, std::int64_t> predicted_hours(const model::Forecast& forecast) {
    std::map<std::uint64_t, std::int64_t> hours;
    for (const auto& [id, start] : forecast.starts) {
        hours[id.value()] =
            start ? std::chrono::duration_cast<std::chrono::hours>(*start - kNow).count() : -1;
    }
    return hours;
}

TEST(Acceptance, FifoStartsInOrder) {
    const model::Snapshot snapshot = ClusterText::read(acceptance("fifo backfill=no"));
    const Index index = Index::build(snapshot);
    const model::PriorityPolicy& policy = snapshot.config->priority;
    const model::Plan planned = plan(index, kNow, kWall, policy);
    EXPECT_EQ(started(planned), (std::vector<std::uint64_t>{11}));
    const std::map<std::uint64_t, std::int64_t> want{
        {11, 0}, {12, 4 * 24}, {13, 9 * 24}, {14, 9 * 24}, {15, -1}};
    EXPECT_EQ(predicted_hours(forecast(index, kNow, kWall, policy)), want);
}

TEST(Acceptance, BackfillStartsTheShortOneNow) {
    for (const char* order : {"fifo", "age=1000"}) {
        const model::Snapshot snapshot = ClusterText::read(acceptance(order));
        const Index index = Index::build(snapshot);
        const model::PriorityPolicy& policy = snapshot.config->priority;
        const model::Plan planned = plan(index, kNow, kWall, policy);
        EXPECT_EQ(started(planned), (std::vector<std::uint64_t>{11, 14}));
        ASSERT_EQ(planned.reserved.size(), 1U);
        EXPECT_EQ(planned.reserved[0].workload.value(), 12U);
        EXPECT_EQ(planned.reserved[0].start - kNow, std::chrono::hours(4 * 24));
        const std::map<std::uint64_t, std::int64_t> want{
            {11, 0}, {12, 4 * 24}, {13, 9 * 24}, {14, 0}, {15, -1}};
        EXPECT_EQ(predicted_hours(forecast(index, kNow, kWall, policy)), want);
    }
}

}  // namespace
}  // namespace twinyard::sched
