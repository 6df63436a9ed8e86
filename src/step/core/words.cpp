#include "step/core/words.h"

namespace twinyard::step {

namespace {

std::string_view due(api::StopReason reason) {
    switch (reason) {
        case api::StopReason::TimeLimit:
            return "DUE TO TIME LIMIT";
        case api::StopReason::Preempted:
            return "DUE TO PREEMPTION";
        case api::StopReason::NodeDown:
            return "DUE TO NODE FAILURE";
        case api::StopReason::Shutdown:  // The run ends, its job goes back to the queue.
            return "DUE TO JOB REQUEUE";
        default:
            return "DUE to SIGNAL Terminated";
    }
}

}  // namespace

std::string ending_line(std::string_view what,
                        std::string_view node,
                        std::string_view when,
                        api::StopReason reason) {
    std::string line = "slurmstepd: error: *** ";
    line.append(what).append(" ON ").append(node).append(" CANCELLED AT ").append(when);
    line.append(" ").append(due(reason)).append(" ***\n");
    return line;
}

std::string oom_line(std::uint64_t kills, std::string_view step) {
    std::string line = "slurmstepd: error: Detected " + std::to_string(kills);
    line.append(" oom_kill event in StepId=").append(step);
    line.append(". Some of the step tasks have been OOM Killed.\n");
    return line;
}

std::string exec_line(std::string_view program, std::string_view why) {
    std::string line = "slurmstepd: error: execve(): ";
    line.append(program).append(": ").append(why).append("\n");
    return line;
}

}  // namespace twinyard::step
