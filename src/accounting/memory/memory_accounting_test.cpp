#include "accounting/memory/memory_accounting.h"

#include "accounting/conformance.h"

namespace twinyard::accounting {
namespace {

TEST(MemoryAccounting, LaterRowsReplaceEarlier) {
    MemoryAccounting history;
    expect_later_rows_replace_earlier(history);
}

TEST(MemoryAccounting, Filters) {
    MemoryAccounting history;
    expect_filters(history);
}

}  // namespace
}  // namespace twinyard::accounting
