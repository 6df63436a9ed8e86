#include <chrono>
#include <cstdio>
#include <span>

#include "sim/options.h"
#include "sim/runner.h"

namespace {

using namespace twinyard;  // NOLINT(google-build-using-namespace)

bool run(std::uint64_t seed, PlantedBug bug) {
    const sim::RunResult result =
        bug == PlantedBug::None ? sim::run_twice(seed) : sim::run_once(seed, bug);
    if (result.failure.empty()) return true;
    std::fputs(sim::report_of(result).c_str(), stdout);
    return false;
}

int replay(std::uint64_t seed, PlantedBug bug) {
    if (!run(seed, bug)) return 1;
    const sim::RunResult result = sim::run_once(seed, bug);
    std::printf("seed %llu (%s): everything held; %llu launches, %llu controllers, trace %016llx\n",
                static_cast<unsigned long long>(seed),
                result.scenario.c_str(),
                static_cast<unsigned long long>(result.launches),
                static_cast<unsigned long long>(result.controllers),
                static_cast<unsigned long long>(result.trace_hash));
    return 0;
}

int run_fixed(PlantedBug bug) {
    for (std::uint64_t seed = 1; seed <= sim::kFixedSeeds; ++seed) {
        if (!run(seed, bug)) return 1;
    }
    std::printf("%llu seeds: everything held\n", static_cast<unsigned long long>(sim::kFixedSeeds));
    return 0;
}

/// Fresh seeds: above the fixed ones, from the wall clock.
int hunt(std::uint32_t minutes, PlantedBug bug) {
    const auto begin = std::chrono::system_clock::now();
    const auto since_epoch = begin.time_since_epoch() / std::chrono::milliseconds(1);
    const auto first = static_cast<std::uint64_t>(since_epoch) * 1000;
    std::uint64_t seed = first;
    while (std::chrono::system_clock::now() < begin + std::chrono::minutes(minutes)) {
        if (!run(seed++, bug)) return 1;
    }
    std::printf("%llu fresh seeds from %llu: everything held\n",
                static_cast<unsigned long long>(seed - first),
                static_cast<unsigned long long>(first));
    return 0;
}

}  // namespace

/// Replays one seed, hunts with fresh ones, or runs the fixed ones.
int main(int argc, char** argv) {
    const auto options = sim::parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (!options || options->help) {
        if (!options) std::fprintf(stderr, "twinyard-sim: %s\n", options.error().message().c_str());
        std::fputs(sim::kUsage, options ? stdout : stderr);
        return options ? 0 : 2;
    }
    if (options->seed) return replay(*options->seed, options->bug);
    if (options->minutes) return hunt(*options->minutes, options->bug);
    return run_fixed(options->bug);
}
