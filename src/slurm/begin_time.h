#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "slurm/calendar.h"

namespace twinyard::slurm {

/// The time words of --begin, --deadline, sacct -S and -E as Unix seconds: now, today, midnight,
/// noon, fika, teatime, tomorrow, each with +count[unit] or -count[unit]; HH:MM[:SS] [AM|PM],
/// MMDD[YY], MM/DD[/YY], MM.DD[.YY], YYYY-MM-DD, with a time after `-` or `T`.
/// A time of day that is over means tomorrow's, except with `past_allowed` (sacct), where it means
/// today's. InvalidArgument: `Invalid time specification (pos=0): TEXT`, also for a date that does
/// not exist.
[[nodiscard]] Result<std::int64_t> parse_time_word(std::string_view text,
                                                   std::int64_t now_unix_s,
                                                   const Calendar& calendar,
                                                   bool past_allowed = false);

}  // namespace twinyard::slurm
