#include "controller/core/pipeline.h"

#include <gtest/gtest.h>

#include "controller/core/testing.h"

namespace twinyard::controller {
namespace {

using testing::Bench;
using testing::job;
using testing::kAdmin;
using testing::kOwner;
using testing::request_id;

/// One operation a mutation, each 100 bytes, so that limits are reached by counting.
void encode(const api::Mutation& mutation, std::vector<RecordOp>& out) {
    static int next = 0;
    const bool counters = std::holds_alternative<api::PutCounters>(mutation);
    out.push_back({counters ? "c" : "k" + std::to_string(++next), std::string(100, 'x')});
}

class PipelineTest : public ::testing::Test {
  protected:
    Pipeline make(PipelineLimits limits = {}) {
        Pipeline pipeline(bench_.load(), limits, 1, encode);
        pipeline.apply(
            api::Configure{std::make_shared<const model::ClusterConfig>(testing::cluster(1))},
            bench_.envelope(kAdmin),
            0);
        while (auto batch = pipeline.next_batch())
            (void)pipeline.on_durable(batch->seq);
        (void)pipeline.take_ready();
        return pipeline;
    }
    void submit(Pipeline& pipeline, std::uint8_t number) {
        pipeline.apply(api::Submit{.request_id = request_id(number), .spec = job()},
                       bench_.envelope(kOwner),
                       number);
    }

    Bench bench_{0};
};

std::vector<Token> tokens(const Released& released) {
    std::vector<Token> out;
    for (const auto& [token, reply] : released.replies)
        out.push_back(token);
    return out;
}

TEST_F(PipelineTest, NothingLeavesBeforeItsBatchIsDurable) {
    Pipeline pipeline = make();
    submit(pipeline, 1);
    EXPECT_FALSE(pipeline.take_ready().has_value());
    const auto batch = pipeline.next_batch();
    ASSERT_TRUE(batch.has_value());
    EXPECT_FALSE(pipeline.take_ready().has_value());
    const Released released = pipeline.on_durable(batch->seq);
    EXPECT_EQ(tokens(released), std::vector<Token>{1});
    EXPECT_EQ(released.snapshot.workloads.size(), 1u);
    EXPECT_EQ(released.changes.revision, batch->last_revision);
    EXPECT_EQ(released.outbox.size(), 1u);
}

TEST_F(PipelineTest, CommandsThatComeWhileTheStoreWorksShareTheNextBatch) {
    Pipeline pipeline = make();
    submit(pipeline, 1);
    const auto first = pipeline.next_batch();
    submit(pipeline, 2);
    submit(pipeline, 3);
    EXPECT_FALSE(pipeline.next_batch().has_value()) << "not full, and the store is busy";
    EXPECT_EQ(tokens(pipeline.on_durable(first->seq)), std::vector<Token>{1});
    const auto second = pipeline.next_batch();
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->seq, first->seq + 1);
    EXPECT_EQ(tokens(pipeline.on_durable(second->seq)), (std::vector<Token>{2, 3}));
}

TEST_F(PipelineTest, ASnapshotNeverShowsWhatALaterBatchCarries) {
    Pipeline pipeline = make({.ops_max = 6});
    submit(pipeline, 1);
    const auto first = pipeline.next_batch();
    submit(pipeline, 2);
    EXPECT_EQ(pipeline.on_durable(first->seq).snapshot.workloads.size(), 1u);
}

TEST_F(PipelineTest, ARefusalWaitsForWhatItRestsOn) {
    Pipeline pipeline = make();
    submit(pipeline, 1);
    const auto batch = pipeline.next_batch();
    pipeline.apply(
        api::Cancel{.targets = {model::WorkloadId(1)}}, bench_.envelope(testing::kStranger), 9);
    EXPECT_FALSE(pipeline.take_ready().has_value()) << "that the job exists is not durable yet";
    (void)pipeline.on_durable(batch->seq);
    const auto ready = pipeline.take_ready();
    ASSERT_TRUE(ready.has_value());
    EXPECT_EQ(tokens(*ready), std::vector<Token>{9});
}

TEST_F(PipelineTest, FullBatchesCloseAndStopTheIntake) {
    Pipeline pipeline = make({.ops_max = 12, .in_flight_max = 1});
    std::uint8_t number = 0;
    submit(pipeline, ++number);
    const auto first = pipeline.next_batch();
    while (pipeline.can_take() && number < 100)
        submit(pipeline, ++number);
    EXPECT_LT(number, 20);
    (void)pipeline.on_durable(first->seq);
    const auto second = pipeline.next_batch();
    ASSERT_TRUE(second.has_value());
    EXPECT_LE(second->ops.size(), 12u);
    EXPECT_TRUE(pipeline.can_take());
}

TEST_F(PipelineTest, OneKeyStandsOnceInABatch) {
    Pipeline pipeline = make();
    submit(pipeline, 1);
    submit(pipeline, 2);
    const auto batch = pipeline.next_batch();
    EXPECT_EQ(std::ranges::count(batch->ops, std::string("c"), &RecordOp::key), 1);
}

TEST_F(PipelineTest, RefusedBatchesAreGivenAgainUnchangedAndInOrder) {
    Pipeline pipeline = make({.ops_max = 6});
    submit(pipeline, 1);
    const auto first = pipeline.next_batch();
    submit(pipeline, 2);
    submit(pipeline, 3);
    const auto second = pipeline.next_batch();
    ASSERT_TRUE(second.has_value());
    const auto again = pipeline.unacknowledged();
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(again[0].seq, first->seq);
    EXPECT_EQ(again[1].seq, second->seq);
    EXPECT_EQ(again[1].ops.size(), second->ops.size());
}

}  // namespace
}  // namespace twinyard::controller
