#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/power_cut_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/testing.h"
#include "store/testing.h"

namespace twinyard::store {
namespace {

using Contents = std::map<std::string, std::string>;

constexpr std::uint64_t kBatches = 16;

/// Batch n changes three keys, small and large, and deletes one: a part of it never looks like a
/// state that has been.
std::vector<Op> ops_of(std::uint64_t seq) {
    const std::string text = std::to_string(seq);
    return {put("w/count", text),
            put("w/" + std::to_string(seq % 4), std::string(300 * seq, 'x') + text),
            put("w/large", std::string(seq % 5 == 0 ? 9'000 : 10, 'y') + text),
            erase("w/" + std::to_string((seq + 2) % 4))};
}

/// What is in the store after batch 0, 1, 2 …
std::vector<Contents> all_states() {
    std::vector<Contents> states(1);
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        Contents next = states.back();
        for (const Op& op : ops_of(seq)) {
            if (op.kind == Op::Put) {
                next[op.key] = op.value;
            } else {
                next.erase(op.key);
            }
        }
        states.push_back(std::move(next));
    }
    return states;
}

/// One short life of a store, recorded: single batches, groups, a side write, a checkpoint beside
/// it, a close and a second start.
class History {
  public:
    void run() {
        {
            const auto store = start();
            commit(*store, 1, 1);
            commit(*store, 2, 2);
            commit(*store, 3, 6);
            commit_side(*store);
            checkpoint();
            commit(*store, 7, 8);
            commit(*store, 9, 10);
        }
        {
            const auto store = start();
            commit(*store, 11, 11);
            checkpoint();
            commit(*store, 12, 15);
            commit(*store, 16, 16);
        }
    }

    /// The highest batch, and term, that was acknowledged before a cut at `point`.
    [[nodiscard]] std::uint64_t acknowledged(std::size_t point) const {
        return highest_before(batch_acknowledged_, point);
    }
    [[nodiscard]] std::uint64_t term_given(std::size_t point) const {
        return highest_before(term_given_, point);
    }
    [[nodiscard]] bool side_write_acknowledged(std::size_t point) const {
        return side_acknowledged_ <= point;
    }
    [[nodiscard]] const PowerCutVfs& disk() const { return vfs_; }

  private:
    using Marks =
        std::map<std::uint64_t, std::size_t>;  // What, and the point at which it was told.

    static std::uint64_t highest_before(const Marks& marks, std::size_t point) {
        std::uint64_t highest = 0;
        for (const auto& [what, told] : marks) {
            if (told <= point) highest = what;
        }
        return highest;
    }

    std::unique_ptr<SqliteStore> start() {
        auto store = SqliteStore::open({.folder = folder_.path(), .vfs = vfs_.name()}).value();
        term_ = store->acquire_term().value();
        term_given_[term_] = vfs_.points();
        return store;
    }
    void commit(Store& store, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            const Completion done = replies_.expect();
            const Status status =
                store.submit(Batch{seq, term_, seq, ops_of(seq)}, [this, seq, done](Reply reply) {
                    if (reply.outcome == Outcome::Durable) batch_acknowledged_[seq] = vfs_.points();
                    done(std::move(reply));
                });
            ASSERT_TRUE(status);
        }
        ASSERT_EQ(replies_.take(last - first + 1), Outcomes(last - first + 1, Outcome::Durable));
    }
    void commit_side(Store& store) {
        const std::string chunk(10'000, 'b');
        ASSERT_TRUE(store.submit(SideWrite{term_, {put("blob/0", chunk), put("blob/1", chunk)}},
                                 replies_.expect()));
        ASSERT_EQ(replies_.take(1), Outcomes{Outcome::Durable});
        side_acknowledged_ = vfs_.points();
    }
    void checkpoint() {
        const auto connection = Connection::open({folder_.path() + "/state.db", vfs_.name(), 1000});
        ASSERT_TRUE(connection);
        ASSERT_TRUE((*connection)->checkpoint(Connection::Checkpoint::Passive));
    }

    TempFolder folder_;
    PowerCutVfs vfs_;
    Replies replies_;
    std::uint64_t term_ = 0;
    Marks batch_acknowledged_;
    Marks term_given_;
    std::size_t side_acknowledged_ = 0;
};

void write_image(const DiskImage& image, const std::string& folder) {
    for (const auto& [name, bytes] : image) {
        FILE* file = ::fopen((folder + "/" + name).c_str(), "wb");
        ASSERT_NE(file, nullptr);
        ASSERT_EQ(::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
        ::fclose(file);
    }
}

Contents contents_under(Store& store, std::string_view prefix) {
    Contents contents;
    for (auto& [key, value] : scan_all(store, prefix))
        contents[key] = value;
    return contents;
}

/// Opens what the cut left, compares it with what was promised, and goes on from there.
void check_cut(const History& history,
               std::size_t point,
               Unsynced unsynced,
               const std::vector<Contents>& states) {
    const TempFolder folder;
    const PowerCutVfs no_real_sync;
    write_image(history.disk().cut(point, unsynced), folder.path());
    const auto opened = SqliteStore::open({.folder = folder.path(), .vfs = no_real_sync.name()});
    ASSERT_TRUE(opened) << opened.error().message();
    Store& store = **opened;

    const Result<std::uint64_t> term = store.acquire_term();
    ASSERT_TRUE(term) << term.error().message();
    EXPECT_GT(*term, history.term_given(point)) << "a term was given twice";
    const Result<BatchMark> last = store.last_batch();
    ASSERT_TRUE(last) << last.error().message();
    ASSERT_GE(last->seq, history.acknowledged(point)) << "an acknowledged batch is gone";
    ASSERT_LE(last->seq, kBatches);
    EXPECT_EQ(contents_under(store, "w/"), states[last->seq])
        << "not the state after " << last->seq;
    const std::size_t chunks = scan_all(store, "blob/").size();
    EXPECT_TRUE(chunks == 0 || chunks == 2) << "half a side write";
    EXPECT_TRUE(chunks == 2 || !history.side_write_acknowledged(point));

    Replies replies;
    ASSERT_TRUE(
        store.submit(Batch{last->seq + 1, *term, 999, {put("w/next", "x")}}, replies.expect()));
    EXPECT_EQ(replies.take(1), Outcomes{Outcome::Durable});
}

TEST(SqliteCrash, APowerCutAtAnyPointLosesNothingAcknowledged) {
    History history;
    history.run();
    if (testing::Test::HasFatalFailure()) return;
    const std::vector<Contents> states = all_states();
    ASSERT_EQ(history.acknowledged(history.disk().points()), kBatches);
    for (std::size_t point = 0; point <= history.disk().points(); ++point) {
        for (const Unsynced unsynced : {Unsynced::Lost,
                                        Unsynced::Kept,
                                        Unsynced::Torn,
                                        Unsynced::LastOnly,
                                        Unsynced::Every2nd}) {
            SCOPED_TRACE(testing::Message()
                         << "cut at " << point << " of " << history.disk().points()
                         << ", unsynced writes " << static_cast<int>(unsynced));
            check_cut(history, point, unsynced, states);
            if (testing::Test::HasFailure()) return;
        }
    }
}

/// One batch on a disk that begins to fail at one call: what is answered must be true, the batch
/// must go in once the disk is well, and what was durable must survive a power cut.
void check_fault(const std::function<void(PowerCutVfs&)>& break_disk,
                 const std::function<void(PowerCutVfs&)>& heal_disk) {
    const TempFolder folder;
    PowerCutVfs vfs;
    const auto opened = SqliteStore::open({.folder = folder.path(), .vfs = vfs.name()});
    ASSERT_TRUE(opened);
    Store& store = **opened;
    const std::uint64_t term = store.acquire_term().value();
    const std::vector<Contents> states = all_states();
    Replies replies;
    const auto commit = [&](std::uint64_t seq) {
        EXPECT_TRUE(store.submit(Batch{seq, term, seq, ops_of(seq)}, replies.expect()));
        return replies.take(1).at(0);
    };
    ASSERT_EQ(commit(1), Outcome::Durable);
    break_disk(vfs);
    const Outcome outcome = commit(2);
    EXPECT_NE(outcome, Outcome::GuardFailed);
    const DiskImage power_cut = vfs.cut(vfs.points(), Unsynced::Lost);
    if (outcome != Outcome::Durable) {
        EXPECT_NE(commit(3), Outcome::Durable) << "3 went in without 2";
    }
    heal_disk(vfs);
    if (outcome == Outcome::Refused) {
        EXPECT_EQ(contents_under(store, "w/"), states[1]);
    }
    EXPECT_EQ(commit(2), Outcome::Durable);
    EXPECT_EQ(commit(3), Outcome::Durable);
    EXPECT_EQ(contents_under(store, "w/"), states[3]);

    const TempFolder after;
    const PowerCutVfs no_real_sync;
    write_image(power_cut, after.path());
    const auto rebooted = SqliteStore::open({.folder = after.path(), .vfs = no_real_sync.name()});
    ASSERT_TRUE(rebooted);
    const std::uint64_t seq = (*rebooted)->last_batch().value().seq;
    EXPECT_GE(seq, outcome == Outcome::Durable ? 2U : 1U);
    EXPECT_EQ(contents_under(**rebooted, "w/"), states[seq]);
}

TEST(SqliteCrash, ADiskThatBeginsToFailAtAnyWriteOrSyncTellsTheTruth) {
    // One batch makes fewer than 20 calls of each kind: the last rows do not fail at all.
    for (int after = 0; after < 20; ++after) {
        for (const int code : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
            SCOPED_TRACE(testing::Message() << "write " << after << " fails with " << code);
            check_fault([&](PowerCutVfs& vfs) { vfs.fail_writes(code, after); },
                        [](PowerCutVfs& vfs) { vfs.fail_writes(SQLITE_OK); });
        }
        SCOPED_TRACE(testing::Message() << "sync " << after << " fails");
        check_fault([&](PowerCutVfs& vfs) { vfs.fail_syncs(SQLITE_IOERR_FSYNC, after); },
                    [](PowerCutVfs& vfs) { vfs.fail_syncs(SQLITE_OK); });
    }
}

}  // namespace
}  // namespace twinyard::store
