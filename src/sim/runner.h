#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/planted_bug.h"
#include "base/time.h"
#include "sim/scenario.h"

namespace twinyard::sim {

/// What came of one seed.
struct RunResult {
    std::uint64_t seed = 0;
    std::string scenario;
    std::string failure;  ///< Empty: everything held.
    std::uint64_t trace_hash = 0;
    std::uint64_t trace_lines = 0;
    std::uint64_t launches = 0;
    std::uint64_t controllers = 0;
    std::vector<std::string> tail;  ///< The last lines of the trace.
};

/// Runs the seed's cluster once. One run at a time in a process, as the planted bug is global.
[[nodiscard]] RunResult run_once(std::uint64_t seed, PlantedBug bug = PlantedBug::None);
/// The same with other faults than the seed's own.
[[nodiscard]] RunResult run_with(std::uint64_t seed, const Scenario& scenario, PlantedBug bug);
/// Twice; different traces are a failure of their own.
[[nodiscard]] RunResult run_twice(std::uint64_t seed);

/// The failure with the trace's end and the command that replays it.
[[nodiscard]] std::string report_of(const RunResult& result);

struct PlantedBugName {
    PlantedBug bug = PlantedBug::None;
    const char* name = "";
};
/// The six, with names for people.
[[nodiscard]] std::span<const PlantedBugName> planted_bugs();

/// 1 … kFixedSeeds are what every test run does. Seeds that once found a bug are kept beside them.
inline constexpr std::uint64_t kFixedSeeds = 200;
[[nodiscard]] std::span<const std::uint64_t> kept_seeds();

}  // namespace twinyard::sim
