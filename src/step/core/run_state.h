#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace twinyard::step {

/// Where a launch stands on its node.
enum class RunState : std::uint8_t {
    Preparing,
    Ready,     ///< Container and socket are there; waits for the gang.
    Running,   ///< Told to go; on the first node the batch shell runs.
    Stopping,  ///< CONT and TERM were sent; KILL follows after kill_wait.
    Killing,   ///< Everything that is left is killed.
    Ended,
};

enum class RunEvent : std::uint8_t {
    Prepared,
    PrepareFailed,
    Go,
    StartFailed,  ///< The batch script did not start (its output, its interpreter).
    ShellEnded,
    StopOrdered,
    LimitReached,
    KillDue,  ///< kill_wait is over.
    Emptied,  ///< No process of the job is left on this node.
};

struct RunTransition {
    RunState from;
    RunEvent event;
    RunState to;
};

inline constexpr auto kRunTransitions = std::to_array<RunTransition>({
    {RunState::Preparing, RunEvent::Prepared, RunState::Ready},
    {RunState::Preparing, RunEvent::PrepareFailed, RunState::Killing},
    {RunState::Preparing, RunEvent::StopOrdered, RunState::Killing},
    {RunState::Ready, RunEvent::Go, RunState::Running},
    {RunState::Ready, RunEvent::StopOrdered, RunState::Killing},
    {RunState::Running, RunEvent::StartFailed, RunState::Killing},
    {RunState::Running, RunEvent::ShellEnded, RunState::Killing},
    {RunState::Running, RunEvent::StopOrdered, RunState::Stopping},
    {RunState::Running, RunEvent::LimitReached, RunState::Stopping},
    // Processes that end themselves upon TERM, a checkpoint being written, have until kill_wait.
    {RunState::Stopping, RunEvent::ShellEnded, RunState::Stopping},
    {RunState::Stopping, RunEvent::KillDue, RunState::Killing},
    {RunState::Stopping, RunEvent::Emptied, RunState::Ended},
    {RunState::Killing, RunEvent::ShellEnded, RunState::Killing},
    {RunState::Killing, RunEvent::Emptied, RunState::Ended},
});

/// Empty: the event means nothing in this state and is dropped.
[[nodiscard]] constexpr std::optional<RunState> next(RunState from, RunEvent event) {
    for (const RunTransition& row : kRunTransitions) {
        if (row.from == from && row.event == event) return row.to;
    }
    return std::nullopt;
}

}  // namespace twinyard::step
