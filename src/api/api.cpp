#include "api/agent.h"
#include "api/command.h"
#include "api/slurm.h"
#include "api/step.h"
#include "base/hash.h"

namespace twinyard::api {

std::uint64_t desired_digest(const DesiredRun& run) {
    Fnv64 hash;
    hash.add(run.launch.key.workload.value()).add(std::uint64_t{run.launch.key.attempt});
    hash.add(std::uint64_t{run.launch.key.group}).add(std::uint64_t{run.launch.key.member});
    hash.add(static_cast<std::uint64_t>(run.stage));
    const auto limit = run.stage == Stage::Stop ? std::optional<Millis>() : run.launch.time_limit;
    hash.add(limit ? static_cast<std::uint64_t>(limit->count()) : ~std::uint64_t{0});
    return hash.value();
}

}  // namespace twinyard::api
