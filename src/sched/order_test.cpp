#include "sched/order.h"

#include <gtest/gtest.h>

#include "model/testing.h"

namespace twinyard::sched {
namespace {

using model::testing::ClusterText;

model::Workload waiting(std::uint64_t id, std::uint32_t nodes, std::int64_t cpus_each) {
    auto spec = std::make_shared<model::WorkloadSpec>();
    spec->partitions = {"p"};
    spec->groups.resize(1);
    spec->groups[0].nodes = {nodes, nodes};
    spec->groups[0].members = {nodes, nodes};
    spec->groups[0].per_member.cpu_milli = 1000 * cpus_each;
    model::Workload workload;
    workload.id = model::WorkloadId{id};
    workload.spec = std::move(spec);
    return workload;
}

TEST(Score, IsSlurmsFormulaInIntegers) {
    model::ClusterConfig config;
    config.partitions.resize(2);
    config.partitions[0].name = "p";
    config.partitions[0].job_factor = 5;
    config.partitions[1].job_factor = 20;
    config.qos = {{"normal", 2}, {"high", 8}};
    model::PriorityPolicy policy;
    policy.weight_age = 1000;
    policy.weight_job_size = 2000;
    policy.weight_partition = 400;
    policy.weight_qos = 4'000'000'000;
    policy.age_max = Seconds{1000};
    const ClusterSize cluster{10, 40};

    model::Workload workload = waiting(1, 5, 2);
    auto spec = *workload.spec;
    spec.qos = "normal";
    spec.nice = 7;
    workload.spec = std::make_shared<const model::WorkloadSpec>(spec);
    workload.status.eligible = workload.status.submitted = ClusterTime{Seconds{100}};

    const auto score = [&](Seconds now) {
        return score_of(workload, config.partitions[0], config, policy, cluster, ClusterTime{now});
    };
    const Score at_quarter = score(Seconds{350});
    EXPECT_EQ(at_quarter.age, 250);
    EXPECT_EQ(at_quarter.job_size, 750);  // (5/10 + 10/40) / 2 of 2000.
    EXPECT_EQ(at_quarter.partition, 100);
    EXPECT_EQ(at_quarter.qos, 1'000'000'000);
    EXPECT_EQ(at_quarter.nice, 7);
    EXPECT_EQ(at_quarter.total, 250 + 750 + 100 + 1'000'000'000 - 7);
    EXPECT_EQ(score(Seconds{50'000}).age, 1000) << "the age factor ends at 1";
    EXPECT_EQ(score(Seconds{50}).age, 0) << "not negative";

    policy.favor_small = true;
    EXPECT_EQ(score(Seconds{350}).job_size, 1250);
    spec.nice = 2'000'000'000;
    workload.spec = std::make_shared<const model::WorkloadSpec>(spec);
    EXPECT_EQ(score(Seconds{350}).total, 1) << "never below 1: 0 is for held ones";
    spec.priority = 42;
    workload.spec = std::make_shared<const model::WorkloadSpec>(spec);
    EXPECT_EQ(score(Seconds{350}).total, 42) << "a fixed priority replaces all";
}

TEST(Priority, ShownForHeldFifoAndUnknownPartition) {
    model::ClusterConfig config;
    config.priority.fifo = true;
    model::Workload first = waiting(1, 1, 1), second = waiting(2, 1, 1);
    const ClusterTime now{};
    EXPECT_GT(priority_of(first, config, now), priority_of(second, config, now));
    first.status.hold = model::Hold::User;
    EXPECT_EQ(priority_of(first, config, now), 0);
}

TEST(Order, BandsThenScoresThenIds) {
    const model::Snapshot snapshot = ClusterText::read(
        "node n1\npartition low nodes=all tier=1\npartition high nodes=all tier=9\n"
        "policy age=1000\n"
        "job 1 in=low age=1h\njob 2 in=low age=2h\njob 3 in=low,high\njob 4 in=low prio=9\n"
        "job 5 in=low age=1h\n");
    const Index index = Index::build(snapshot);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> got;
    for (const Alternative& each : order_of(index, snapshot.config->priority, ClusterText::kNow))
        got.emplace_back(each.workload.value(), each.band);
    const std::vector<std::pair<std::uint64_t, std::uint32_t>> want{
        {3, 9}, {2, 1}, {4, 1}, {1, 1}, {5, 1}, {3, 1}};
    EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace twinyard::sched
