#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "store/conformance.h"

namespace twinyard::store {
namespace {

class MemorySubject final : public Subject {
  public:
    MemorySubject() { reopen(); }

    Store& store() override { return *store_; }
    void reopen() override {
        store_.reset();
        store_.emplace(disk_);
    }
    void fill_disk() override { disk_.faults.otherwise = Fault::Refuse; }
    void free_disk() override { disk_.faults.otherwise = Fault::None; }
    void hold() override { store_->set_mode(MemoryStore::Mode::Pumped); }
    void let_go() override { store_->set_mode(MemoryStore::Mode::Immediate); }

  private:
    MemoryDisk disk_;
    std::optional<MemoryStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(+[] {
                             return std::unique_ptr<Subject>(std::make_unique<MemorySubject>());
                         }));

/// One store in pumped mode that owns the disk, and what it answered.
class MemoryFaults : public testing::Test {
  protected:
    void SetUp() override { restart(); }

    void restart() {
        store_.reset();
        store_.emplace(disk_, MemoryStore::Mode::Pumped);
        term_ = store_->acquire_term().value();
    }
    void submit(std::uint64_t seq) {
        const std::string value = std::to_string(seq);
        const Status status = store_->submit(
            Batch{seq, term_, seq, {put("w/1", value), put("w/2", value)}}, replies_.expect());
        ASSERT_TRUE(status);
    }
    std::string value(std::string_view key) {
        const auto it = disk_.contents().find(key);
        return it == disk_.contents().end() ? "(absent)" : it->second;
    }

    MemoryDisk disk_;
    std::optional<MemoryStore> store_;
    Replies replies_;
    std::uint64_t term_ = 0;
};

TEST_F(MemoryFaults, NothingIsDurableBeforeThePump) {
    submit(1);
    submit(2);
    EXPECT_EQ(store_->waiting(), 2U);
    EXPECT_EQ(value("w/1"), "(absent)");
    EXPECT_EQ(store_->pump(1), 1U);
    EXPECT_EQ(value("w/1"), "1");
    restart();
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Durable}) << "2 went with the crash, unanswered";
    EXPECT_EQ(store_->last_batch()->seq, 1U);
}

TEST_F(MemoryFaults, RefusalsAreTakenFromTheScript) {
    disk_.faults.next = {Fault::None, Fault::Refuse};
    submit(1);
    submit(2);
    submit(3);
    store_->pump();
    EXPECT_EQ(replies_.take(3), (Outcomes{Outcome::Durable, Outcome::Refused, Outcome::Refused}));
    submit(2);
    submit(3);
    store_->pump();
    EXPECT_EQ(replies_.take(2), Outcomes(2, Outcome::Durable));
}

TEST_F(MemoryFaults, UnknownIsResolvedBySubmittingAgain) {
    for (const Fault fault : {Fault::AnswerLost, Fault::RequestLost}) {
        const std::uint64_t seq = store_->last_batch()->seq + 1;
        disk_.faults.next = {fault};
        submit(seq);
        submit(seq + 1);
        store_->pump();
        EXPECT_EQ(replies_.take(2), (Outcomes{Outcome::Unknown, Outcome::Refused}));
        EXPECT_EQ(store_->last_batch()->seq, fault == Fault::AnswerLost ? seq : seq - 1);
        submit(seq);
        submit(seq + 1);
        store_->pump();
        EXPECT_EQ(replies_.take(2), Outcomes(2, Outcome::Durable));
        EXPECT_EQ(value("w/1"), std::to_string(seq + 1));
    }
}

TEST_F(MemoryFaults, DeathTable) {
    const struct {
        const char* name;
        Fault fault;
        std::uint64_t seq;
        const char* first;
        const char* second;
    } cases[] = {
        {"before", Fault::DieBeforeCommit, 1, "1", "1"},
        {"torn, as a lying disk does", Fault::Tear, 1, "2", "1"},
        {"after", Fault::DieAfterCommit, 2, "2", "2"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        MemoryDisk disk;
        MemoryStore store(disk, MemoryStore::Mode::Pumped);
        const std::uint64_t term = store.acquire_term().value();
        disk.faults.next = {Fault::None, c.fault};
        for (const std::uint64_t seq : {1U, 2U, 3U}) {
            const std::string text = std::to_string(seq);
            ASSERT_TRUE(store.submit(Batch{seq, term, seq, {put("w/1", text), put("w/2", text)}},
                                     replies_.expect()));
        }
        EXPECT_EQ(store.pump(), 1U);
        EXPECT_EQ(replies_.take(1), Outcomes{Outcome::Durable});
        EXPECT_TRUE(store.dead());
        EXPECT_EQ(store.get("w/1").error().code(), ErrorCode::Unavailable);
        MemoryStore next(disk);
        EXPECT_EQ(next.last_batch()->seq, c.seq);
        EXPECT_EQ(next.get("w/1").value(), c.first);
        EXPECT_EQ(next.get("w/2").value(), c.second);
    }
}

TEST_F(MemoryFaults, AnotherHandleTakesTheTerm) {
    MemoryStore other(disk_);
    EXPECT_EQ(other.acquire_term().value(), term_ + 1);
    submit(1);
    store_->pump();
    EXPECT_EQ(replies_.take(1), Outcomes{Outcome::TermLost});
}

TEST_F(MemoryFaults, ReadsFailAsScripted) {
    disk_.faults.reads_to_refuse = 2;
    EXPECT_FALSE(store_->get("w/1"));
    EXPECT_FALSE(store_->acquire_term());
    EXPECT_TRUE(store_->get("w/1"));
}

TEST_F(MemoryFaults, ThePlantedBugLetsBatchesOvertake) {
    disk_.faults.ignore_batch_guard = true;
    disk_.faults.next = {Fault::Refuse};
    submit(1);
    submit(2);
    store_->pump();
    EXPECT_EQ(replies_.take(2), (Outcomes{Outcome::Refused, Outcome::Durable}));
    EXPECT_EQ(store_->last_batch()->seq, 2U) << "1 is missing, and a checker must see it";
}

}  // namespace
}  // namespace twinyard::store
