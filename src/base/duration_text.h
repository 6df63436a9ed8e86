#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace twinyard {

/// A time limit that never ends.
inline constexpr Seconds kUnlimited = Seconds::max();

/// The longest limited time that a text may ask for: Slurm counts minutes in 32 bits.
inline constexpr Seconds kTimeLimitMax = Seconds{std::int64_t{60} * 0xfffffffd};

/// Slurm's time limits: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; UNLIMITED, INFINITE and -1 give
/// kUnlimited.
[[nodiscard]] Result<Seconds> parse_time_limit(std::string_view text);

/// Slurm keeps limits in whole minutes: 61 seconds asked for are two minutes given.
[[nodiscard]] Seconds round_up_to_minutes(Seconds limit);

/// As squeue and sinfo print it: 7-00:00:00, 1:00:00, 30:00, 0:05, UNLIMITED.
[[nodiscard]] std::string format_time_limit(Seconds limit);

/// As scontrol and sacct print it: 7-00:00:00, 01:00:00, 00:30:00, UNLIMITED.
[[nodiscard]] std::string format_time_limit_padded(Seconds limit);

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

/// 64G, 1000M, 4GB, 1.5T in bytes (powers of 1024; K M G T P, with or without B, any case); a bare
/// number counts in `bare_unit` bytes. Negative and over 2^62 bytes are refused.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text, std::int64_t bare_unit = kMiB);

/// Memory as Slurm prints it: 1000M, 3000M, 64G, 62.50G. Rounded up to whole MiB; 0 is "0".
[[nodiscard]] std::string format_size(std::int64_t bytes);

}  // namespace twinyard
