#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "accounting/accounting.h"

namespace twinyard::accounting {

/// History that is gone with the process; for tests and simulation. `refuse_writes` makes write()
/// fail.
class MemoryAccounting final : public Accounting {
  public:
    [[nodiscard]] Status write(std::span<const api::AccountingRecord> records) override;
    [[nodiscard]] Status query(const api::AccountingQuery& query, const RowCallback& row) override;

    void refuse_writes(bool refuse);

  private:
    using Key = std::tuple<model::JobId, model::WorkloadId, model::Attempt, std::int64_t>;
    std::mutex mutex_;
    std::map<Key, api::AccountingRecord> rows_;
    bool refuse_ = false;
};

}  // namespace twinyard::accounting
