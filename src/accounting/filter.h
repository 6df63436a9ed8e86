#pragma once

#include <cstdint>

#include "api/accounting.h"

namespace twinyard::accounting {

/// Does the query ask for this row, all_attempts aside (that needs the others)? A job that has not
/// ended lasts until now; steps match by their own times and their job's other properties.
[[nodiscard]] bool matches(const api::AccountingQuery& query, const api::AccountingRecord& record);

/// Sorts a job before its steps: batch, extern, 0, 1 …
[[nodiscard]] constexpr std::int64_t row_order(std::int32_t step) {
    return step == -1 ? std::int64_t{-1'000'000} : std::int64_t{step};
}

}  // namespace twinyard::accounting
