#pragma once

#include "api/accounting.h"

namespace twinyard::accounting {

/// Does the query ask for this row, all_attempts aside (that needs the others)? A job that has not ended lasts until now;
/// steps match by their own times and their job's other properties.
[[nodiscard]] bool matches(const api::AccountingQuery& query, const api::AccountingRecord& record);

}  // namespace twinyard::accounting
