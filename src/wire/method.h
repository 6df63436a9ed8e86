#pragma once

#include <cstdint>

namespace twinyard::wire {

/// What a request on our wire asks for; request → reply. Numbers are never used again.
enum class Method : std::uint16_t {
    // commands → controller (or the local agent, which relays)
    SubmitJob = 1,       ///< JobRequest → JobSubmitted
    ListJobs = 2,        ///< JobQuery → stream of JobRow
    ListNodes = 3,       ///< NodeQuery → stream of NodeRow
    ListPartitions = 4,  ///< PartitionQuery → stream of PartitionRow
    ListHistory = 5,     ///< AccountingQuery → stream of AccountingRecord
    CancelJobs = 6,      ///< CancelRequest → TargetsAnswer
    ActOnJobs = 7,       ///< JobActionRequest → TargetsAnswer
    Update = 8,          ///< UpdateRequest → empty
    Info = 9,            ///< empty → ControllerInfo
    Reconfigure = 10,    ///< empty → empty
    JobScript = 11,      ///< JobQuery (one id) → bytes of the script
    EndAll = 12,         ///< for `twinyard down`: JobTargets → empty, once all work has ended

    // agent → controller
    AgentStream = 32,  ///< AgentHello → stream of AgentOrders
    AgentReport = 33,  ///< AgentReport → empty, when durable
    FetchBlob = 34,    ///< ContentHash as 16 bytes → stream of pieces

    // srun, agent, step daemons → step daemon
    RunStep = 64,      ///< StepRequest → stream of StepEvent, both ways
    LaunchTasks = 65,  ///< StepLaunch → stream of StepEvent, both ways
    StepdWatch = 66,   ///< agent: empty → stream of ObservedRun
    StepdOrder = 67,   ///< agent: DesiredRun → empty
    StepdSignal = 68,  ///< agent: SignalOrder → empty
    StepdSteps = 69,   ///< agent: empty → stream of StepRecord
};

}  // namespace twinyard::wire
