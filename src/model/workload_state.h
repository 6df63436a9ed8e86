#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace twinyard::model {

enum class WorkloadState : std::uint8_t {
    Pending,
    Starting,  ///< Placed; its nodes prepare. Slurm: CONFIGURING.
    Running,
    Suspended,
    Completing,  ///< Its end is decided; some node has not confirmed that it is empty.
    Done,
};

enum class WorkloadEvent : std::uint8_t {
    Placed,      ///< A plan entry was accepted.
    Started,     ///< All members' nodes are ready and were told to go.
    EndOrdered,  ///< Cancelled, time limit, preempted, a member or node failed, or its first member
                 ///< ended.
    Cleaned,   ///< Every node confirmed empty (or is fenced), and it does not go back to the queue.
    Requeued,  ///< The same, and it goes back to the queue.
    Suspended,
    Resumed,
};

struct WorkloadTransition {
    WorkloadState from;
    WorkloadEvent event;
    WorkloadState to;
};

inline constexpr auto kWorkloadTransitions = std::to_array<WorkloadTransition>({
    {WorkloadState::Pending, WorkloadEvent::Placed, WorkloadState::Starting},
    {WorkloadState::Pending, WorkloadEvent::EndOrdered, WorkloadState::Done},
    {WorkloadState::Starting, WorkloadEvent::Started, WorkloadState::Running},
    {WorkloadState::Starting, WorkloadEvent::EndOrdered, WorkloadState::Completing},
    {WorkloadState::Running, WorkloadEvent::EndOrdered, WorkloadState::Completing},
    {WorkloadState::Running, WorkloadEvent::Suspended, WorkloadState::Suspended},
    {WorkloadState::Suspended, WorkloadEvent::Resumed, WorkloadState::Running},
    {WorkloadState::Suspended, WorkloadEvent::EndOrdered, WorkloadState::Completing},
    {WorkloadState::Completing, WorkloadEvent::Cleaned, WorkloadState::Done},
    {WorkloadState::Completing, WorkloadEvent::Requeued, WorkloadState::Pending},
});

/// Empty: the event is not legal in this state; the caller knows if it came late or is a bug.
[[nodiscard]] constexpr std::optional<WorkloadState> next(WorkloadState from, WorkloadEvent event) {
    for (const WorkloadTransition& row : kWorkloadTransitions) {
        if (row.from == from && row.event == event) return row.to;
    }
    return std::nullopt;
}
static_assert(std::ranges::none_of(kWorkloadTransitions,
                                   [](const auto& row) { return row.from == WorkloadState::Done; }),
              "Done is final");

/// One grant's members on their node, as the controller sees them.
enum class MemberState : std::uint8_t {
    Placed,   ///< Ordered; the agent has not answered.
    Ready,    ///< Its step daemon is up, prolog done; waits for the gang.
    Running,  ///< Told to go and confirmed.
    Ended,    ///< The agent confirmed that nothing of it is left.
    Unknown,  ///< The node is lost; what runs there cannot be known.
};

enum class MemberEvent : std::uint8_t { AgentReady, AgentRunning, AgentEnded, NodeLost, NodeBack };

struct MemberTransition {
    MemberState from;
    MemberEvent event;
    MemberState to;
};

inline constexpr auto kMemberTransitions = std::to_array<MemberTransition>({
    {MemberState::Placed, MemberEvent::AgentReady, MemberState::Ready},
    {MemberState::Placed, MemberEvent::AgentRunning, MemberState::Running},
    {MemberState::Placed, MemberEvent::AgentEnded, MemberState::Ended},
    {MemberState::Placed, MemberEvent::NodeLost, MemberState::Unknown},
    {MemberState::Ready, MemberEvent::AgentRunning, MemberState::Running},
    {MemberState::Ready, MemberEvent::AgentEnded, MemberState::Ended},
    {MemberState::Ready, MemberEvent::NodeLost, MemberState::Unknown},
    {MemberState::Running, MemberEvent::AgentEnded, MemberState::Ended},
    {MemberState::Running, MemberEvent::NodeLost, MemberState::Unknown},
    {MemberState::Unknown, MemberEvent::AgentReady, MemberState::Ready},
    {MemberState::Unknown, MemberEvent::AgentRunning, MemberState::Running},
    {MemberState::Unknown, MemberEvent::AgentEnded, MemberState::Ended},
});

[[nodiscard]] constexpr std::optional<MemberState> next(MemberState from, MemberEvent event) {
    for (const MemberTransition& row : kMemberTransitions) {
        if (row.from == from && row.event == event) return row.to;
    }
    return std::nullopt;
}
static_assert(std::ranges::none_of(kMemberTransitions,
                                   [](const auto& row) { return row.from == MemberState::Ended; }),
              "Ended is final");

enum class EndKind : std::uint8_t {
    None,
    Completed,
    Failed,
    Cancelled,
    TimeLimit,
    NodeFailed,
    Preempted,
    LaunchFailed,
    OutOfMemory,
    Deadline,
};

}  // namespace twinyard::model
