#pragma once

#include <cstdint>

/// Faults put in on purpose, to prove that the simulation finds them. Only the simulator's own copy
/// of the libraries defines TWINYARD_PLANTED_BUGS; in every other build planted() is constantly
/// false.
namespace twinyard {

enum class PlantedBug : std::uint8_t {
    None,
    EffectsBeforeCommit,
    MissingBatchGuard,
    AgentForgetsAttempts,
    ApplyPlanSkipsLedger,
    ForgetBeforeDurable,
    ReplyBeforeDurable,
};

#ifdef TWINYARD_PLANTED_BUGS
/// The one bug that is on; set before a run, from one thread.
inline PlantedBug planted_bug_on =
    PlantedBug::None;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
[[nodiscard]] inline bool planted(PlantedBug bug) {
    return planted_bug_on == bug;
}
#else
[[nodiscard]] constexpr bool planted(PlantedBug) {
    return false;
}
#endif

}  // namespace twinyard
