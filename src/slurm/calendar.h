#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace twinyard::slurm {

/// Unix seconds to local time and back, as plain functions, so that tests have a zone of their own.
struct Calendar {
    std::tm (*to_local)(std::int64_t unix_s);
    std::int64_t (*to_unix)(std::tm local);  ///< Normalises, finds out about daylight saving.
};

/// The time zone of this process (TZ, /etc/localtime).
[[nodiscard]] Calendar system_calendar();
[[nodiscard]] Calendar utc_calendar();

/// "2026-12-01T10:00:00"; `none` for 0 and less.
[[nodiscard]] std::string date_text(const Calendar& calendar,
                                    std::int64_t unix_ms,
                                    std::string_view none);

/// By SLURM_TIME_FORMAT's pattern: "standard" as above, "relative" ("Tomorr 10:00"), else
/// strftime(3).
[[nodiscard]] std::string date_text(const Calendar& calendar,
                                    std::int64_t unix_ms,
                                    std::string_view none,
                                    const std::string& pattern,
                                    std::int64_t now_ms);

}  // namespace twinyard::slurm
