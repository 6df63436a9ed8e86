#include "accounting/memory/memory_accounting.h"

#include <vector>

#include "accounting/filter.h"

namespace twinyard::accounting {

Status MemoryAccounting::write(std::span<const api::AccountingRecord> records) {
    const std::lock_guard lock(mutex_);
    if (refuse_) return fail(ErrorCode::Unavailable, "the history was told to refuse");
    for (const api::AccountingRecord& record : records) {
        api::AccountingRecord& row =
            rows_[{record.job, record.workload, record.attempt, row_order(record.step)}];
        if (row.outbox_seq <= record.outbox_seq) row = record;
    }
    return {};
}

Status MemoryAccounting::query(const api::AccountingQuery& query, const RowCallback& row) {
    std::vector<api::AccountingRecord> found;
    {
        const std::lock_guard lock(mutex_);
        std::map<model::WorkloadId, model::Attempt> last;
        for (const auto& [key, record] : rows_)
            last[record.workload] = std::max(last[record.workload], record.attempt);
        for (const auto& [key, record] : rows_) {
            if (!query.all_attempts && record.attempt != last[record.workload]) continue;
            if (matches(query, record)) found.push_back(record);
        }
    }
    for (const api::AccountingRecord& record : found) {
        if (!row(record)) break;
    }
    return {};
}

void MemoryAccounting::refuse_writes(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_ = refuse;
}

}  // namespace twinyard::accounting
