#include "sim/runner.h"

#include <array>

#include "sim/cluster.h"

namespace twinyard::sim {
namespace {

constexpr auto kPlantedBugs = std::to_array<PlantedBugName>({
    {PlantedBug::EffectsBeforeCommit, "effects-before-commit"},
    {PlantedBug::MissingBatchGuard, "missing-batch-guard"},
    {PlantedBug::AgentForgetsAttempts, "agent-forgets-attempts"},
    {PlantedBug::ApplyPlanSkipsLedger, "apply-plan-skips-ledger"},
    {PlantedBug::ForgetBeforeDurable, "forget-before-durable"},
    {PlantedBug::ReplyBeforeDurable, "reply-before-durable"},
});

}  // namespace

RunResult run_with(std::uint64_t seed, const Scenario& scenario, PlantedBug bug) {
    planted_bug_on = bug;
    Cluster cluster(seed, scenario.faults);
    cluster.run();
    planted_bug_on = PlantedBug::None;
    const auto& tail = cluster.trace().tail();
    return {.seed = seed,
            .scenario = std::string(scenario.name),
            .failure = cluster.failure(),
            .trace_hash = cluster.trace().hash(),
            .trace_lines = cluster.trace().lines(),
            .launches = cluster.launches(),
            .controllers = cluster.controllers(),
            .tail = {tail.begin(), tail.end()}};
}

RunResult run_once(std::uint64_t seed, PlantedBug bug) {
    return run_with(seed, scenario_of(seed), bug);
}

RunResult run_twice(std::uint64_t seed) {
    RunResult first = run_once(seed);
    if (!first.failure.empty()) return first;
    const RunResult second = run_once(seed);
    if (first.trace_hash == second.trace_hash && first.trace_lines == second.trace_lines)
        return first;
    first.failure = "two runs differ: a clock, a thread or an order of hashing leaked in";
    return first;
}

std::string report_of(const RunResult& result) {
    std::string text;
    for (const std::string& line : result.tail)
        text += "    " + line + "\n";
    const std::string seed = std::to_string(result.seed);
    text += "seed " + seed + " (" + result.scenario + "): " + result.failure + "\n";
    text += "replay with: ./dev sim --seed " + seed + "\n";
    return text;
}

std::span<const PlantedBugName> planted_bugs() {
    return kPlantedBugs;
}

std::span<const std::uint64_t> kept_seeds() {
    return {};
}

}  // namespace twinyard::sim
