#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/planted_bug.h"
#include "base/result.h"

namespace twinyard::sim {

/// The command line of twinyard-sim. Nothing given: the fixed seeds.
struct Options {
    std::optional<std::uint64_t> seed;
    std::optional<std::uint32_t> minutes;
    PlantedBug bug = PlantedBug::None;
    bool help = false;
};

/// InvalidArgument: one line for people.
[[nodiscard]] Result<Options> parse_options(std::span<const char* const> args);

inline constexpr const char* kUsage =
    "usage: twinyard-sim [--seed N | --minutes N] [--bug NAME]\n"
    "  --seed N      replay one run, twice, with the end of its trace if it fails\n"
    "  --minutes N   hunt with fresh seeds for so long, stop at the first failure\n"
    "  --bug NAME    with a planted bug turned on: effects-before-commit, missing-batch-guard,\n"
    "                agent-forgets-attempts, apply-plan-skips-ledger, forget-before-durable,\n"
    "                reply-before-durable\n"
    "without either: the fixed seeds\n";

}  // namespace twinyard::sim
