#include "os/journal_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/linux/testing.h"

namespace twinyard::os {
namespace {

class Journal : public testing::Test {
  protected:
    Result<JournalFile> open() {
        seen_.clear();
        return JournalFile::open(path_, [this](std::string_view record) -> Status {
            seen_.emplace_back(record);
            return {};
        });
    }
    std::string bytes() { return read_file(path_).value(); }
    void overwrite(const std::string& content) {
        ASSERT_TRUE(write_file_atomic(path_, content).has_value());
    }

    TestFolder folder_;
    std::string path_ = folder_.file("journal");
    std::vector<std::string> seen_;
};

using Records = std::vector<std::string>;

TEST_F(Journal, KeepsWhatWasSynced) {
    {
        JournalFile journal = open().value();
        ASSERT_TRUE(journal.append_durably("one").has_value());
        ASSERT_TRUE(journal.append("").has_value());
        ASSERT_TRUE(journal.append(std::string("a\0b\n", 4)).has_value());
        ASSERT_TRUE(journal.sync().has_value());
        ASSERT_TRUE(journal.append("never synced").has_value());
    }
    JournalFile journal = open().value();
    EXPECT_EQ(seen_, (Records{"one", "", std::string("a\0b\n", 4)}));
    EXPECT_EQ(journal.records(), 3U);
    EXPECT_EQ(journal.bytes(), bytes().size());
}

TEST_F(Journal, IsOpenOnce) {
    const auto journal = open();
    ASSERT_TRUE(journal.has_value());
    EXPECT_EQ(open().error().code(), ErrorCode::Conflict);
}

TEST_F(Journal, CutsATornTailAtEveryLength) {
    std::size_t first = 0;
    {
        JournalFile journal = open().value();
        ASSERT_TRUE(journal.append_durably("one").has_value());
        first = journal.bytes();
        ASSERT_TRUE(journal.append_durably("a longer second").has_value());
    }
    const std::string whole = bytes();
    for (std::size_t size = first; size < whole.size(); ++size) {
        overwrite(whole.substr(0, size));
        JournalFile journal = open().value();
        EXPECT_EQ(seen_, (Records{"one"}));
        EXPECT_EQ(journal.bytes_torn(), size - first);
        ASSERT_TRUE(journal.append_durably("next").has_value());
        EXPECT_EQ(journal.records(), 2U);
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(seen_, (Records{"one", "next"}));
    overwrite(whole + std::string(5000, '\0'));
    EXPECT_EQ(open().value().bytes_torn(), 5000U);
}

TEST_F(Journal, TellsDamageInTheMiddle) {
    {
        JournalFile journal = open().value();
        ASSERT_TRUE(journal.append_durably("one").has_value());
        ASSERT_TRUE(journal.append_durably("two").has_value());
    }
    const std::string whole = bytes();
    for (std::size_t at = 0; at < 8 + 16 + 7; ++at) {
        std::string broken = whole;
        broken[at] = static_cast<char>(broken[at] ^ 0x10);
        overwrite(broken);
        EXPECT_EQ(open().error().code(), ErrorCode::Corrupt) << at;
    }
}

TEST_F(Journal, Compacts) {
    {
        JournalFile journal = open().value();
        for (int i = 0; i < 100; ++i)
            ASSERT_TRUE(journal.append_durably("record").has_value());
        const std::vector<std::string> kept = {"x", "y"};
        ASSERT_TRUE(journal.compact(kept).has_value());
        EXPECT_EQ(journal.records(), 2U);
        ASSERT_TRUE(journal.append_durably("z").has_value());
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(seen_, (Records{"x", "y", "z"}));
}

TEST_F(Journal, PassesTheVisitorsErrorOn) {
    {
        JournalFile journal = open().value();
        ASSERT_TRUE(journal.append_durably("one").has_value());
    }
    const auto refused = JournalFile::open(
        path_, [](std::string_view) -> Status { return fail(ErrorCode::Corrupt, "strange"); });
    EXPECT_EQ(refused.error().code(), ErrorCode::Corrupt);
    EXPECT_TRUE(refused.error().message().ends_with("strange"));
}

TEST_F(Journal, RefusesTooLongAndFullDisk) {
    JournalFile journal = open().value();
    EXPECT_EQ(journal.append(std::string(JournalFile::kRecordBytesMax + 1, 'x')).error().code(),
              ErrorCode::InvalidArgument);
    EXPECT_EQ(journal.bytes(), 8U);
}

}  // namespace
}  // namespace twinyard::os
