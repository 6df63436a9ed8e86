#pragma once

#include <chrono>
#include <cstdint>

namespace twinyard {

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

/// Time that never goes back, carried over restarts: durations, limits, ages, order, accounting.
/// Only a shell makes one.
struct ClusterClock {
    using duration = Millis;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ClusterClock>;
    static constexpr bool is_steady = true;
};
using ClusterTime = ClusterClock::time_point;

/// The calendar (Unix time, UTC, milliseconds): begin times, reservations, displayed dates. May
/// jump.
struct WallClock {
    using duration = Millis;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<WallClock>;
    static constexpr bool is_steady = false;
};
using WallTime = WallClock::time_point;

}  // namespace twinyard
