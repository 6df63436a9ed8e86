#pragma once

// Test support: the text that every engine must pass. An engine's test includes this once, writes a
// Subject and instantiates StoreConformance with a function that makes one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "store/testing.h"

namespace twinyard::store {

/// An engine under test, on a place of its own that starts empty.
class Subject {
  public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual Store& store() = 0;
    /// Closes the handle and opens the same place again.
    virtual void reopen() = 0;
    /// From now on every write fails as on a full disk; and then no longer.
    virtual void fill_disk() = 0;
    virtual void free_disk() = 0;
    /// Commits are held back, so that transactions gather; then let go.
    virtual void hold() = 0;
    virtual void let_go() = 0;
    /// Removes the files under the open store: this process is about to die and cannot clean up.
    virtual void remove_files() {}
};

using MakeSubject = std::unique_ptr<Subject> (*)();

class StoreConformance : public testing::TestWithParam<MakeSubject> {
  protected:
    void SetUp() override {
        subject_ = GetParam()();
        take_term();
    }

    Store& store() { return subject_->store(); }

    void take_term() {
        const Result<std::uint64_t> term = store().acquire_term();
        ASSERT_TRUE(term) << term.error().message();
        term_ = *term;
    }

    void submit(std::uint64_t seq, std::vector<Op> ops) {
        const Status status =
            store().submit(Batch{seq, term_, seq * 10, std::move(ops)}, replies_.expect());
        ASSERT_TRUE(status) << status.error().message();
    }
    void submit_side(std::vector<Op> ops) {
        const Status status = store().submit(SideWrite{term_, std::move(ops)}, replies_.expect());
        ASSERT_TRUE(status) << status.error().message();
    }
    Outcome commit(std::uint64_t seq, std::vector<Op> ops) {
        submit(seq, std::move(ops));
        return replies_.take(1).at(0);
    }

    std::string value(std::string_view key) {
        const Result<std::optional<std::string>> got = store().get(key);
        EXPECT_TRUE(got) << got.error().message();
        return got && *got ? **got : "(absent)";
    }
    BatchMark last() {
        const Result<BatchMark> mark = store().last_batch();
        EXPECT_TRUE(mark) << mark.error().message();
        return mark.value_or(BatchMark{});
    }

    std::unique_ptr<Subject> subject_;
    Replies replies_;
    std::uint64_t term_ = 0;
};

TEST_P(StoreConformance, StartsEmpty) {
    EXPECT_EQ(last(), BatchMark{});
    EXPECT_EQ(value("w/1"), "(absent)");
    EXPECT_EQ(term_, 1U);
    EXPECT_TRUE(scan_all(store(), "w/").empty());
}

TEST_P(StoreConformance, ABatchIsReadBackWithItsMark) {
    EXPECT_EQ(commit(1, {put("w/1", "one"), put("w/2", "")}), Outcome::Durable);
    EXPECT_EQ(commit(2, {put("w/3", "three"), erase("w/1"), erase("w/none")}), Outcome::Durable);
    EXPECT_EQ(value("w/1"), "(absent)");
    EXPECT_EQ(value("w/2"), "");
    EXPECT_EQ(value("w/3"), "three");
    EXPECT_EQ(last(), (BatchMark{2, term_, 20}));
}

TEST_P(StoreConformance, KeysAndValuesAreAnyBytes) {
    const std::string key("b/\0\xff\x01", 5);
    const std::string bytes("\0\0binary\xff\n", 10);
    EXPECT_EQ(commit(1, {put(key, bytes)}), Outcome::Durable);
    EXPECT_EQ(value(key), bytes);
}

TEST_P(StoreConformance, ScanIsOrderedByUnsignedBytesAndKeepsToThePrefix) {
    EXPECT_EQ(commit(1,
                     {put("w/\x80", "high"),
                      put("w/a", "a"),
                      put("w0", "after"),
                      put("w/", "first"),
                      put("v/z", "before"),
                      put("w/\xff\xff", "last")}),
              Outcome::Durable);
    const auto rows = scan_all(store(), "w/");
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0].second, "first");
    EXPECT_EQ(rows[1].second, "a");
    EXPECT_EQ(rows[2].second, "high");
    EXPECT_EQ(rows[3].second, "last");
    EXPECT_EQ(scan_all(store(), "w/\xff").size(), 1U);
    EXPECT_EQ(scan_all(store(), "").size(), 8U) << "all, with meta/batch and meta/term";
}

TEST_P(StoreConformance, TheCallbackEndsAScan) {
    EXPECT_EQ(commit(1, {put("w/1", ""), put("w/2", "")}), Outcome::Durable);
    int calls = 0;
    const Status status = store().scan("w/", [&](std::string_view, std::string_view) -> Status {
        ++calls;
        return fail(ErrorCode::Corrupt, "bad record");
    });
    EXPECT_EQ(calls, 1);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message(), "bad record");
}

TEST_P(StoreConformance, TheLastOperationOnAKeyWins) {
    EXPECT_EQ(commit(1, {put("w/1", "a"), put("w/1", "b"), put("w/2", "x"), erase("w/2")}),
              Outcome::Durable);
    EXPECT_EQ(value("w/1"), "b");
    EXPECT_EQ(value("w/2"), "(absent)");
}

TEST_P(StoreConformance, FourInFlightAreAnsweredInOrder) {
    subject_->hold();
    for (std::uint64_t seq = 1; seq <= kBatchesInFlightMax; ++seq) {
        submit(seq, {put("w/last", std::to_string(seq))});
    }
    subject_->let_go();
    EXPECT_EQ(replies_.take(4), Outcomes(4, Outcome::Durable));
    EXPECT_EQ(value("w/last"), "4");
    EXPECT_EQ(last().seq, 4U);
}

TEST_P(StoreConformance, AFifthInFlightIsABug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            subject_->hold();
            subject_->remove_files();
            for (std::uint64_t seq = 1; seq <= kBatchesInFlightMax + 1; ++seq)
                submit(seq, {});
        },
        "kBatchesInFlightMax");
}

TEST_P(StoreConformance, LimitsAreKeptAndRefusedBeforeTheyAreAccepted) {
    const Limits limits = store().limits();
    std::vector<Op> most;
    for (std::size_t i = 0; i < limits.ops_max; ++i)
        most.push_back(put("w/" + std::to_string(i), ""));
    EXPECT_EQ(commit(1, most), Outcome::Durable);
    most.push_back(put("w/more", ""));
    const Status too_many = store().submit(Batch{2, term_, 20, most}, replies_.expect());
    ASSERT_FALSE(too_many);
    EXPECT_EQ(too_many.error().code(), ErrorCode::InvalidArgument);

    const std::string largest(limits.bytes_max - 3, 'x');
    EXPECT_EQ(commit(2, {put("big", largest)}), Outcome::Durable);
    EXPECT_EQ(value("big"), largest);
    const Status too_big =
        store().submit(Batch{3, term_, 30, {put("big", largest + "x")}}, replies_.expect());
    EXPECT_FALSE(too_big);
    EXPECT_FALSE(store().submit(SideWrite{term_, {put("big", largest + "x")}}, replies_.expect()));
    EXPECT_FALSE(store().submit(Batch{3, term_, 30, {put("meta/term", "")}}, replies_.expect()));
    EXPECT_EQ(commit(3, {}), Outcome::Durable) << "what was not accepted holds nothing up";
}

TEST_P(StoreConformance, ABatchOutOfOrderFailsItsGuard) {
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    EXPECT_EQ(commit(3, {put("w/1", "3")}), Outcome::GuardFailed);
    EXPECT_EQ(commit(0, {put("w/1", "0")}), Outcome::GuardFailed);
    EXPECT_EQ(value("w/1"), "1");
    EXPECT_EQ(commit(2, {}), Outcome::Durable);
}

TEST_P(StoreConformance, ABatchThatIsInIsDurableAgain) {
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    EXPECT_EQ(last().seq, 1U);
}

TEST_P(StoreConformance, ANewTermEndsTheOldOne) {
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    const std::uint64_t old_term = term_;
    take_term();
    EXPECT_EQ(term_, old_term + 1);
    ASSERT_TRUE(store().submit(Batch{2, old_term, 20, {put("w/1", "2")}}, replies_.expect()));
    ASSERT_TRUE(store().submit(SideWrite{old_term, {put("w/1", "2")}}, replies_.expect()));
    EXPECT_EQ(replies_.take(2), Outcomes(2, Outcome::TermLost));
    EXPECT_EQ(value("w/1"), "1");
    EXPECT_EQ(commit(2, {put("w/1", "2")}), Outcome::Durable);
    EXPECT_EQ(last(), (BatchMark{2, term_, 20}));
}

TEST_P(StoreConformance, EverythingDurableIsThereAfterReopening) {
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    subject_->reopen();
    EXPECT_EQ(last(), (BatchMark{1, 1, 10}));
    take_term();
    EXPECT_EQ(term_, 2U) << "the term rises at each start";
    EXPECT_EQ(commit(2, {put("w/2", "2")}), Outcome::Durable);
    subject_->reopen();
    EXPECT_EQ(value("w/1"), "1");
    EXPECT_EQ(value("w/2"), "2");
    EXPECT_EQ(last(), (BatchMark{2, 2, 20}));
}

TEST_P(StoreConformance, SideWritesStandBesideTheSequence) {
    subject_->hold();
    submit(1, {put("w/1", "1")});
    submit_side({put("blob/a/0", "chunk")});
    submit(2, {put("w/2", "2")});
    subject_->let_go();
    EXPECT_EQ(replies_.take(3), Outcomes(3, Outcome::Durable));
    EXPECT_EQ(value("blob/a/0"), "chunk");
    EXPECT_EQ(last().seq, 2U);
    submit_side({erase("blob/a/0")});
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Durable});
    EXPECT_EQ(value("blob/a/0"), "(absent)");
}

TEST_P(StoreConformance, TooManySideWritesAreRefusedOneByOne) {
    subject_->hold();
    for (std::size_t i = 0; i <= kSideWritesInFlightMax; ++i) {
        submit_side({put("blob/" + std::to_string(i), "")});
    }
    subject_->let_go();
    Outcomes want(kSideWritesInFlightMax, Outcome::Durable);
    want.push_back(Outcome::Refused);
    EXPECT_EQ(replies_.take(kSideWritesInFlightMax + 1), want);
    EXPECT_EQ(scan_all(store(), "blob/").size(), kSideWritesInFlightMax);
    submit_side({put("blob/again", "")});
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Durable});
}

TEST_P(StoreConformance, ARefusedBatchLeavesNothingAndGoesInWhenThereIsSpace) {
    EXPECT_EQ(commit(1, {put("w/1", "1")}), Outcome::Durable);
    subject_->fill_disk();
    submit(2, {put("w/1", "2"), put("w/2", "2")});
    const std::vector<Reply> refused = replies_.take_replies(1);
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].outcome, Outcome::Refused);
    EXPECT_NE(refused[0].message.find("full"), std::string::npos) << refused[0].message;
    EXPECT_EQ(value("w/1"), "1") << "reads go on";
    EXPECT_EQ(value("w/2"), "(absent)");
    submit_side({put("blob/1", std::string(10000, 'x'))});
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Refused});
    subject_->free_disk();
    EXPECT_EQ(commit(2, {put("w/1", "2"), put("w/2", "2")}), Outcome::Durable);
    EXPECT_EQ(value("w/1"), "2");
    EXPECT_EQ(last().seq, 2U);
}

TEST_P(StoreConformance, NothingOvertakesARefusedBatch) {
    subject_->fill_disk();
    subject_->hold();
    for (std::uint64_t seq = 1; seq <= 3; ++seq)
        submit(seq, {put("w/a", std::to_string(seq))});
    subject_->let_go();
    EXPECT_EQ(replies_.take(3), Outcomes(3, Outcome::Refused));
    subject_->free_disk();
    // Space is back, and still 4 must not go in: 1 to 3 have to come again first.
    EXPECT_EQ(commit(4, {put("w/a", "4")}), Outcome::Refused);
    EXPECT_EQ(commit(2, {put("w/a", "2")}), Outcome::Refused);
    EXPECT_EQ(last(), BatchMark{});
    for (std::uint64_t seq = 1; seq <= 4; ++seq)
        submit(seq, {put("w/a", std::to_string(seq))});
    EXPECT_EQ(replies_.take(4), Outcomes(4, Outcome::Durable));
    EXPECT_EQ(value("w/a"), "4");
    EXPECT_EQ(last().seq, 4U);
}

TEST_P(StoreConformance, ACompletionMaySubmit) {
    ASSERT_TRUE(store().submit(Batch{1, term_, 10, {}}, [this](const Reply& reply) {
        EXPECT_EQ(reply.outcome, Outcome::Durable);
        submit(2, {put("w/2", "2")});
    }));
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Durable});
    EXPECT_EQ(last().seq, 2U);
}

}  // namespace twinyard::store
