#pragma once

#include <functional>
#include <span>

#include "api/accounting.h"
#include "base/result.h"

namespace twinyard::accounting {

/// Takes one row; false ends the query.
using RowCallback = std::function<bool(const api::AccountingRecord&)>;

/// Where history lives. Rows are idempotent by (workload, attempt, step): a later write of the same
/// row (higher outbox_seq) replaces the earlier one, an older one is ignored. Threads: any, one
/// call at a time is served.
class Accounting {
  public:
    Accounting() = default;
    Accounting(const Accounting&) = delete;
    Accounting& operator=(const Accounting&) = delete;
    virtual ~Accounting() = default;

    /// All of them durably, or an error (Unavailable: try again later).
    [[nodiscard]] virtual Status write(std::span<const api::AccountingRecord> records) = 0;

    /// Rows in order of job id, attempt, then the job before its steps (batch, extern, 0, 1 …).
    [[nodiscard]] virtual Status query(const api::AccountingQuery& query,
                                       const RowCallback& row) = 0;
};

}  // namespace twinyard::accounting
