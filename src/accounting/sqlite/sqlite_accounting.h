#pragma once

#include <memory>
#include <string>

#include "accounting/accounting.h"

namespace twinyard::accounting {

/// History in one SQLite file (WAL, FULL: what write() reported is there after a power cut). Rows
/// are kept as wire records beside the columns that queries filter by. Threads: any; calls are
/// served one at a time, queries on a connection of their own.
class SqliteAccounting final : public Accounting {
  public:
    /// Makes the file where there is none. Unavailable: it cannot be opened; Corrupt: it is no
    /// history of ours.
    [[nodiscard]] static Result<std::unique_ptr<SqliteAccounting>> open(const std::string& path);
    ~SqliteAccounting() override;

    [[nodiscard]] Status write(std::span<const api::AccountingRecord> records) override;
    [[nodiscard]] Status query(const api::AccountingQuery& query, const RowCallback& row) override;

  private:
    struct Impl;
    explicit SqliteAccounting(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::accounting
