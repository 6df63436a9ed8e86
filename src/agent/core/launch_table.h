#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "api/agent.h"

/// The life of one launch on its node. Its state is the phase that is reported.
namespace twinyard::agent {

enum class LaunchEvent : std::uint8_t {
    StepdReady,    ///< Its step daemon is up and the prolog is done.
    StepdRunning,  ///< The user's processes were started.
    EndBegun,      ///< We told it to stop, or it ends by itself (time limit).
    StepdEnded,    ///< Nothing of it is left, and there is an exit record.
    StepdLost,     ///< Its daemon is gone without a record, or never started.
};

struct LaunchTransition {
    api::Phase from;
    LaunchEvent event;
    api::Phase to;
};

inline constexpr auto kLaunchTransitions = std::to_array<LaunchTransition>({
    {api::Phase::Preparing, LaunchEvent::StepdReady, api::Phase::Ready},
    {api::Phase::Preparing, LaunchEvent::StepdRunning, api::Phase::Running},
    {api::Phase::Preparing, LaunchEvent::EndBegun, api::Phase::Ending},
    {api::Phase::Preparing, LaunchEvent::StepdEnded, api::Phase::Ended},
    {api::Phase::Preparing, LaunchEvent::StepdLost, api::Phase::Ended},
    {api::Phase::Ready, LaunchEvent::StepdRunning, api::Phase::Running},
    {api::Phase::Ready, LaunchEvent::EndBegun, api::Phase::Ending},
    {api::Phase::Ready, LaunchEvent::StepdEnded, api::Phase::Ended},
    {api::Phase::Ready, LaunchEvent::StepdLost, api::Phase::Ended},
    {api::Phase::Running, LaunchEvent::EndBegun, api::Phase::Ending},
    {api::Phase::Running, LaunchEvent::StepdEnded, api::Phase::Ended},
    {api::Phase::Running, LaunchEvent::StepdLost, api::Phase::Ended},
    {api::Phase::Ending, LaunchEvent::StepdEnded, api::Phase::Ended},
    {api::Phase::Ending, LaunchEvent::StepdLost, api::Phase::Ended},
});

/// Empty: the event says nothing new in this state (it came late or again).
[[nodiscard]] constexpr std::optional<api::Phase> next(api::Phase from, LaunchEvent event) {
    for (const LaunchTransition& row : kLaunchTransitions) {
        if (row.from == from && row.event == event) return row.to;
    }
    return std::nullopt;
}
static_assert(std::ranges::none_of(kLaunchTransitions,
                                   [](const auto& row) { return row.from == api::Phase::Ended; }),
              "Ended is final");

}  // namespace twinyard::agent
