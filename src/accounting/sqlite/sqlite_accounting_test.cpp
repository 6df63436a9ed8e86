#include "accounting/sqlite/sqlite_accounting.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "accounting/conformance.h"

namespace twinyard::accounting {
namespace {

class SqliteHistory : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "history.XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ + "/history.db"; }
    std::string folder_;
};

TEST_F(SqliteHistory, LaterRowsReplaceEarlier) {
    auto history = SqliteAccounting::open(path());
    ASSERT_TRUE(history.has_value());
    expect_later_rows_replace_earlier(**history);
}

TEST_F(SqliteHistory, Filters) {
    auto history = SqliteAccounting::open(path());
    ASSERT_TRUE(history.has_value());
    expect_filters(**history);
}

TEST_F(SqliteHistory, IsThereAfterItWasOpenedAgain) {
    const api::AccountingRecord rows[] = {job_row(1, 7, 100, 200)};
    ASSERT_TRUE((*SqliteAccounting::open(path()))->write(rows).has_value());
    EXPECT_EQ(rows_of(**SqliteAccounting::open(path()), {}), (Rows{"1.1.-1:7"}));
}

TEST_F(SqliteHistory, SaysWhatIsWrongWithItsFile) {
    EXPECT_FALSE(SqliteAccounting::open(folder_ + "/absent/history.db").has_value());
    std::ofstream(path()) << std::string(5'000, 'x');
    const auto opened = SqliteAccounting::open(path());
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().message().find("not a database"), std::string::npos)
        << opened.error().message();
}

}  // namespace
}  // namespace twinyard::accounting
