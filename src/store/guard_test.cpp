#include "store/guard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace twinyard::store {
namespace {

Op put(std::string key, std::string value = "v") {
    return {Op::Put, std::move(key), std::move(value)};
}

TEST(Prepare, Table) {
    const Limits limits{.ops_max = 3, .bytes_max = 20};
    const struct {
        const char* name;
        std::vector<Op> ops;
        bool good;
    } cases[] = {
        {"nothing is allowed", {}, true},
        {"at the limit of operations", {put("a"), put("b"), put("c")}, true},
        {"over the limit of operations", {put("a"), put("b"), put("c"), put("d")}, false},
        {"counted before folding", {put("a"), put("a"), put("a"), put("a")}, false},
        {"at the limit of bytes", {put("key", std::string(17, 'x'))}, true},
        {"over the limit of bytes", {put("key", std::string(18, 'x'))}, false},
        {"empty key", {put("")}, false},
        {"meta/batch is the store's own", {put("meta/batch")}, false},
        {"meta/term is the store's own", {{Op::Delete, "meta/term", ""}}, false},
        {"other meta keys are free", {put("meta/schema")}, true},
    };
    for (const auto& c : cases) {
        std::vector<Op> ops = c.ops;
        const Status status = prepare(ops, limits);
        EXPECT_EQ(status.has_value(), c.good) << c.name;
        if (!status) {
            EXPECT_EQ(status.error().code(), ErrorCode::InvalidArgument) << c.name;
        }
    }
}

TEST(Prepare, KeyLength) {
    std::vector<Op> longest{put(std::string(kKeyBytesMax, 'k'))};
    EXPECT_TRUE(prepare(longest, {}));
    std::vector<Op> longer{put(std::string(kKeyBytesMax + 1, 'k'))};
    EXPECT_FALSE(prepare(longer, {}));
}

TEST(Prepare, TheLastOperationOnAKeyWins) {
    std::vector<Op> ops{put("a", "1"), put("b", "1"), {Op::Delete, "a", ""}, put("a", "2")};
    ASSERT_TRUE(prepare(ops, {}));
    EXPECT_EQ(ops, (std::vector<Op>{put("b", "1"), put("a", "2")}));
}

TEST(Guard, Table) {
    // What is in: batch 7 of term 3. `refused` is a batch that was refused before, 0 for none.
    const Owned owned{.last = {7, 3, 70}, .term = 3};
    const struct {
        const char* name;
        std::uint64_t refused;
        BatchMark batch;
        std::optional<Outcome> want;
    } cases[] = {
        {"the next one commits", 0, {8, 3, 80}, std::nullopt},
        {"the one that is in is durable", 0, {7, 3, 70}, Outcome::Durable},
        {"another of the same number is not", 0, {7, 3, 71}, Outcome::GuardFailed},
        {"a gap", 0, {9, 3, 90}, Outcome::GuardFailed},
        {"the past", 0, {6, 3, 60}, Outcome::GuardFailed},
        {"an older term", 0, {8, 2, 80}, Outcome::TermLost},
        {"a newer term than the owner's", 0, {8, 4, 80}, Outcome::TermLost},
        {"a follower of a refused one", 8, {9, 3, 90}, Outcome::Refused},
        {"the refused one again", 8, {8, 3, 80}, std::nullopt},
        {"term first", 8, {9, 2, 90}, Outcome::TermLost},
    };
    for (const auto& c : cases) {
        Guard guard;
        if (c.refused != 0) guard.settled(c.refused, Outcome::Refused);
        const std::optional<Reply> answer =
            guard.answer(Batch{c.batch.seq, c.batch.term, c.batch.last_revision, {}}, owned);
        ASSERT_EQ(answer.has_value(), c.want.has_value()) << c.name;
        if (answer) {
            EXPECT_EQ(answer->outcome, *c.want) << c.name;
        }
    }
}

TEST(Guard, HoldsUntilTheFirstRefusedIsIn) {
    const Owned owned{.last = {8, 3, 80}, .term = 3};
    Guard guard;
    guard.settled(9, Outcome::Unknown);
    guard.settled(10, Outcome::Refused);
    EXPECT_EQ(guard.answer(Batch{10, 3, 100, {}}, {{9, 3, 90}, 3})->outcome, Outcome::Refused);
    EXPECT_FALSE(guard.answer(Batch{9, 3, 90, {}}, owned));
    guard.settled(9, Outcome::Durable);
    EXPECT_FALSE(guard.answer(Batch{10, 3, 100, {}}, {{9, 3, 90}, 3}));
}

TEST(Guard, SeveralUnknownOnesThatWentInTogetherAreDurableOneByOne) {
    const Owned all_in{.last = {10, 3, 100}, .term = 3};
    Guard guard;
    for (const std::uint64_t seq : {8U, 9U, 10U})
        guard.settled(seq, Outcome::Unknown);
    EXPECT_EQ(guard.answer(Batch{9, 3, 90, {}}, all_in)->outcome, Outcome::Refused);
    for (const std::uint64_t seq : {8U, 9U, 10U}) {
        const std::optional<Reply> answer = guard.answer(Batch{seq, 3, seq * 10, {}}, all_in);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->outcome, Outcome::Durable) << seq;
        guard.settled(seq, Outcome::Durable);
    }
    EXPECT_FALSE(guard.answer(Batch{11, 3, 110, {}}, all_in));
}

TEST(Marks, RoundTripAndSize) {
    const BatchMark mark{1, 2, 0xfedcba9876543210ULL};
    EXPECT_EQ(decode_mark(encode_mark(mark)), mark);
    EXPECT_EQ(decode_term(encode_term(77)), 77U);
    EXPECT_LT(encode_term(255), encode_term(256)) << "big end first, so bytes order as numbers";
    EXPECT_EQ(decode_mark("short").error().code(), ErrorCode::Corrupt);
    EXPECT_EQ(decode_term("").error().code(), ErrorCode::Corrupt);
}

}  // namespace
}  // namespace twinyard::store
