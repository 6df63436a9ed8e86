#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "store/conformance.h"
#include "store/sqlite/power_cut_vfs.h"
#include "store/sqlite/testing.h"

namespace twinyard::store {
namespace {

std::unique_ptr<SqliteStore> open_or_die(const SqliteStore::Options& options) {
    Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(options);
    if (!opened) ADD_FAILURE() << opened.error().message();
    return opened ? *std::move(opened) : nullptr;
}

/// Another program's write lock on the database: commits wait behind it.
class ForeignLock {
  public:
    ForeignLock(const std::string& path, const std::string& vfs) {
        EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE, vfs.c_str()), 0);
        EXPECT_EQ(sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    ForeignLock(const ForeignLock&) = delete;
    ForeignLock& operator=(const ForeignLock&) = delete;
    ~ForeignLock() { sqlite3_close(db_); }

  private:
    sqlite3* db_ = nullptr;
};

class SqliteSubject final : public Subject {
  public:
    SqliteSubject() { reopen(); }

    Store& store() override { return *store_; }
    void reopen() override {
        store_.reset();
        store_ = open_or_die({.folder = folder_.path(), .vfs = vfs_.name()});
    }
    void fill_disk() override { vfs_.fail_writes(SQLITE_FULL); }
    void free_disk() override { vfs_.fail_writes(SQLITE_OK); }
    void hold() override {
        lock_ = std::make_unique<ForeignLock>(folder_.path() + "/state.db", vfs_.name());
    }
    void let_go() override { lock_.reset(); }
    void remove_files() override { folder_.remove(); }

  private:
    TempFolder folder_;
    PowerCutVfs vfs_;
    std::unique_ptr<SqliteStore> store_;
    std::unique_ptr<ForeignLock> lock_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, testing::Values(+[] {
                             return std::unique_ptr<Subject>(std::make_unique<SqliteSubject>());
                         }));

/// A store whose disk fails on demand.
class SqliteFaults : public testing::Test {
  protected:
    void SetUp() override {
        store_ = open_or_die({.folder = folder_.path(), .vfs = vfs_.name()});
        ASSERT_NE(store_, nullptr);
        term_ = store_->acquire_term().value();
    }
    void submit(std::uint64_t seq) {
        const Status status = store_->submit(
            Batch{seq, term_, seq * 10, {put("w/" + std::to_string(seq), "x")}}, replies_.expect());
        ASSERT_TRUE(status);
    }
    Outcome commit(std::uint64_t seq) {
        submit(seq);
        return replies_.take(1).at(0);
    }

    TempFolder folder_;
    PowerCutVfs vfs_;
    std::unique_ptr<SqliteStore> store_;
    Replies replies_;
    std::uint64_t term_ = 0;
};

TEST_F(SqliteFaults, AFailedWriteIsRefusedWithItsReasonAndRetried) {
    const struct {
        int code;
        const char* text;
    } cases[] = {
        {SQLITE_FULL, "full"},
        {SQLITE_READONLY, "readonly"},
        {SQLITE_IOERR_WRITE, "I/O error"},
    };
    std::uint64_t seq = 1;
    for (const auto& c : cases) {
        SCOPED_TRACE(c.text);
        vfs_.fail_writes(c.code);
        submit(seq);
        submit(seq + 1);
        const std::vector<Reply> replies = replies_.take_replies(2);
        ASSERT_EQ(replies.size(), 2U);
        EXPECT_EQ(replies[0].outcome, Outcome::Refused);
        EXPECT_NE(replies[0].message.find(c.text), std::string::npos) << replies[0].message;
        EXPECT_EQ(replies[1].outcome, Outcome::Refused);
        EXPECT_EQ(store_->last_batch().value().seq, seq - 1);
        EXPECT_EQ(commit(seq), Outcome::Refused) << "still broken";
        vfs_.fail_writes(SQLITE_OK);
        EXPECT_EQ(commit(seq), Outcome::Durable);
        EXPECT_EQ(commit(seq + 1), Outcome::Durable);
        seq += 2;
    }
}

TEST_F(SqliteFaults, AFailedSyncLeavesItUnknownUntilSubmittedAgain) {
    EXPECT_EQ(commit(1), Outcome::Durable);
    vfs_.fail_syncs(SQLITE_IOERR_FSYNC);
    for (const std::uint64_t seq : {2U, 3U, 4U})
        submit(seq);
    // How many of them met in one commit is the scheduler's choice; that none is called durable,
    // and none refused while it may be in, is ours.
    const Outcomes first = replies_.take(3);
    EXPECT_EQ(first.at(0), Outcome::Unknown);
    EXPECT_EQ(commit(2), Outcome::Unknown) << "asking again does not help while the disk is broken";
    vfs_.fail_syncs(SQLITE_OK);
    for (const std::uint64_t seq : {2U, 3U, 4U})
        EXPECT_EQ(commit(seq), Outcome::Durable) << seq;
    EXPECT_EQ(store_->last_batch().value(), (BatchMark{4, term_, 40}));
    EXPECT_EQ(scan_all(*store_, "w/").size(), 4U);
}

TEST_F(SqliteFaults, AGroupInDoubtIsAnsweredAsAWhole) {
    {
        const ForeignLock lock(folder_.path() + "/state.db", vfs_.name());
        for (const std::uint64_t seq : {1U, 2U, 3U, 4U})
            submit(seq);
        vfs_.fail_syncs(SQLITE_IOERR_FSYNC);
    }
    const Outcomes outcomes = replies_.take(4);
    for (const Outcome outcome : outcomes) {
        EXPECT_TRUE(outcome == Outcome::Unknown || outcome == Outcome::Refused);
    }
    vfs_.fail_syncs(SQLITE_OK);
    for (const std::uint64_t seq : {1U, 2U, 3U, 4U})
        submit(seq);
    EXPECT_EQ(replies_.take(4), Outcomes(4, Outcome::Durable));
    EXPECT_EQ(scan_all(*store_, "w/").size(), 4U);
}

TEST_F(SqliteFaults, ATermIsNotGivenOnABrokenDisk) {
    vfs_.fail_writes(SQLITE_FULL);
    EXPECT_EQ(store_->acquire_term().error().code(), ErrorCode::Unavailable);
    vfs_.fail_writes(SQLITE_OK);
    vfs_.fail_syncs(SQLITE_IOERR_FSYNC);
    EXPECT_FALSE(store_->acquire_term());
    vfs_.fail_syncs(SQLITE_OK);
    const Result<std::uint64_t> term = store_->acquire_term();
    ASSERT_TRUE(term);
    EXPECT_GT(*term, term_);
    term_ = *term;
    EXPECT_EQ(commit(1), Outcome::Durable);
}

TEST_F(SqliteFaults, ClosingAnswersWhatWasSubmitted) {
    for (const std::uint64_t seq : {1U, 2U, 3U})
        submit(seq);
    store_.reset();
    EXPECT_EQ(replies_.take(3), Outcomes(3, Outcome::Durable));
}

TEST_F(SqliteFaults, ASecondOpenerIsToldWhoHasTheFolder) {
    const auto second = SqliteStore::open({.folder = folder_.path(), .vfs = ""});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::Conflict);
    EXPECT_EQ(second.error().message(),
              folder_.path() + " is in use by process " + std::to_string(::getpid()));
    store_.reset();
    EXPECT_TRUE(SqliteStore::open({.folder = folder_.path(), .vfs = ""}));
}

TEST(Sqlite, OpeningWhatIsNotThereOrNotADatabaseFails) {
    const TempFolder folder;
    const auto absent = SqliteStore::open({.folder = folder.path() + "/none", .vfs = ""});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code(), ErrorCode::Unavailable);
    FILE* file = ::fopen((folder.path() + "/state.db").c_str(), "w");
    ASSERT_NE(file, nullptr);
    for (int i = 0; i < 1000; ++i)
        ::fputs("not a database ", file);
    ::fclose(file);
    const auto broken = SqliteStore::open({.folder = folder.path(), .vfs = ""});
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.error().message().find("not a database"), std::string::npos);
}

TEST(Sqlite, OnlyTheOwnerReadsTheFiles) {
    const TempFolder folder;
    const auto store = open_or_die({.folder = folder.path(), .vfs = ""});
    ASSERT_TRUE(store->acquire_term());
    for (const char* name : {"/state.db", "/state.db-wal", "/lock"}) {
        const auto mode = std::filesystem::status(folder.path() + name).permissions();
        EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
            << name;
    }
}

/// Commits three batches, tells the pipe, and waits for its end.
[[noreturn]] void child(const std::string& folder, int pipe_end) {
    Replies replies;
    const auto store = open_or_die({.folder = folder, .vfs = ""});
    const std::uint64_t term = store->acquire_term().value();
    for (const std::uint64_t seq : {1U, 2U, 3U}) {
        const bool accepted =
            store
                ->submit(Batch{seq, term, seq, {put("w/" + std::to_string(seq), "x")}},
                         replies.expect())
                .has_value();
        if (!accepted || replies.take(1).at(0) != Outcome::Durable) ::_exit(1);
    }
    [[maybe_unused]] const ssize_t told = ::write(pipe_end, "x", 1);
    while (true)
        ::pause();
}

TEST(Sqlite, KillingTheProcessLosesNothingAndFreesTheFolder) {
    const TempFolder folder;
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t pid = ::fork();
    if (pid == 0) child(folder.path(), ends[1]);
    ::close(ends[1]);
    char told = 0;
    ASSERT_EQ(::read(ends[0], &told, 1), 1);
    const auto refused = SqliteStore::open({.folder = folder.path(), .vfs = ""});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("process " + std::to_string(pid)), std::string::npos);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(ends[0]);
    const auto store = open_or_die({.folder = folder.path(), .vfs = ""});
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->acquire_term().value(), 2U);
    EXPECT_EQ(store->last_batch().value(), (BatchMark{3, 1, 3}));
    EXPECT_EQ(scan_all(*store, "w/").size(), 3U);
}

TEST(Sqlite, TheLogStartsOverWhileCommitsGoOn) {
    const TempFolder folder;
    const PowerCutVfs vfs;
    const auto store = open_or_die(
        {.folder = folder.path(), .vfs = vfs.name(), .log_pages_wanted = 20, .log_pages_max = 60});
    ASSERT_NE(store, nullptr);
    const std::uint64_t term = store->acquire_term().value();
    Replies replies;
    for (std::uint64_t seq = 1; seq <= 50; ++seq) {
        const std::string value(40'000, static_cast<char>('a' + seq % 26));
        ASSERT_TRUE(store->submit(Batch{seq, term, seq, {put("w/1", value)}}, replies.expect()));
        ASSERT_EQ(replies.take(1).at(0), Outcome::Durable);
    }
    // 50 commits of at least 10 pages were written; the log holds 60 and one commit at most.
    const auto size = std::filesystem::file_size(folder.path() + "/state.db-wal");
    EXPECT_LT(size, 100U * 4'120U);
    EXPECT_EQ(store->get("w/1").value()->at(0), 'a' + 50 % 26);
}

}  // namespace
}  // namespace twinyard::store
