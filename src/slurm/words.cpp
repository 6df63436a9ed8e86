#include "slurm/words.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/signal_names.h"

namespace twinyard::slurm {

namespace {

using model::EndKind;
using model::Hold;
using model::Wait;
using model::WorkloadState;

struct StateWord {
    std::string_view long_word, compact;
    bool finished = false;
};

constexpr auto kStates = std::to_array<StateWord>({
    {"PENDING", "PD"},
    {"RUNNING", "R"},
    {"SUSPENDED", "S"},
    {"COMPLETED", "CD", true},
    {"CANCELLED", "CA", true},
    {"FAILED", "F", true},
    {"TIMEOUT", "TO", true},
    {"NODE_FAIL", "NF", true},
    {"PREEMPTED", "PR", true},
    {"BOOT_FAIL", "BF", true},
    {"DEADLINE", "DL", true},
    {"OUT_OF_MEMORY", "OOM", true},
    {"COMPLETING", "CG"},
    {"STAGE_OUT", "SO"},
    {"CONFIGURING", "CF"},
    {"RESIZING", "RS"},
    {"REQUEUED", "RQ"},
    {"REQUEUE_FED", "RF"},
    {"REQUEUE_HOLD", "RH"},
    {"SPECIAL_EXIT", "SE"},
    {"STOPPED", "ST"},
    {"REVOKED", "RV", true},
    {"RESV_DEL_HOLD", "RD"},
    {"SIGNALING", "SI"},
    {"EXPEDITING", "EXPEDITING"},
});

const StateWord* find_state(std::string_view text) {
    for (const StateWord& word : kStates) {
        if (equal_nocase(word.long_word, text) || equal_nocase(word.compact, text)) return &word;
    }
    return nullptr;
}

std::string_view hold_reason(Hold hold) {
    switch (hold) {
        case Hold::None:
            return "None";
        case Hold::User:
            return "JobHeldUser";
        case Hold::Admin:
            return "JobHeldAdmin";
        case Hold::RequeueLimit:
            return "JobHoldMaxRequeue";
        case Hold::LaunchFailed:
            return "launch failed requeued held";
    }
    return "None";
}

std::string failed_reason(const model::Outcome& outcome) {
    if (outcome.signal > 0) {
        return "RaisedSignal:" + std::to_string(outcome.signal) + "(" +
               signal_description(outcome.signal) + ")";
    }
    return outcome.exit_code != 0 ? "NonZeroExitCode" : "None";
}

std::string end_reason(const model::Outcome& outcome) {
    switch (outcome.kind) {
        case EndKind::Failed:
            return failed_reason(outcome);
        case EndKind::TimeLimit:
            return "TimeLimit";
        case EndKind::NodeFailed:
            return "NodeDown";
        case EndKind::LaunchFailed:
            return "JobLaunchFailure";
        case EndKind::OutOfMemory:
            return "OutOfMemory";
        case EndKind::Deadline:
            return "DeadLine";
        case EndKind::None:
        case EndKind::Completed:
        case EndKind::Cancelled:
        case EndKind::Preempted:
            return "None";
    }
    return "None";
}

/// Is it a limit of one of its partitions that the nodes asked for break?
bool breaks_node_limit(const model::WorkloadSpec& spec, const model::ClusterConfig& config) {
    return std::ranges::any_of(spec.partitions, [&](const std::string& name) {
        const model::Partition* partition = find_partition(config, name);
        if (partition == nullptr) return false;
        return std::ranges::any_of(spec.groups, [&](const model::TaskGroup& group) {
            return (partition->nodes_max && group.nodes.min > *partition->nodes_max) ||
                   group.nodes.max < partition->nodes_min;
        });
    });
}

}  // namespace

std::string_view end_state(EndKind kind) {
    switch (kind) {
        case EndKind::None:
        case EndKind::Completed:
            return "COMPLETED";
        case EndKind::Failed:
        case EndKind::LaunchFailed:
            return "FAILED";
        case EndKind::Cancelled:
            return "CANCELLED";
        case EndKind::TimeLimit:
            return "TIMEOUT";
        case EndKind::NodeFailed:
            return "NODE_FAIL";
        case EndKind::Preempted:
            return "PREEMPTED";
        case EndKind::OutOfMemory:
            return "OUT_OF_MEMORY";
        case EndKind::Deadline:
            return "DEADLINE";
    }
    return "FAILED";
}

std::string_view base_state(const model::Workload& workload) {
    switch (workload.status.state) {
        case WorkloadState::Pending:
            return "PENDING";
        case WorkloadState::Starting:
        case WorkloadState::Running:
            return "RUNNING";
        case WorkloadState::Suspended:
            return "SUSPENDED";
        case WorkloadState::Completing:
            if (workload.status.requeue_at_end) return "PENDING";
            return end_state(workload.status.outcome.kind);
        case WorkloadState::Done:
            return end_state(workload.status.outcome.kind);
    }
    return "PENDING";
}

std::string_view job_state(const model::Workload& workload) {
    if (workload.status.state == WorkloadState::Starting) return "CONFIGURING";
    if (workload.status.state == WorkloadState::Completing) return "COMPLETING";
    return base_state(workload);
}

std::string_view compact_state(std::string_view long_word) {
    const StateWord* word = find_state(long_word);
    return word == nullptr ? long_word : word->compact;
}

std::optional<std::string_view> parse_job_state(std::string_view text) {
    const StateWord* word = find_state(trim(text));
    return word == nullptr ? std::nullopt : std::optional(word->long_word);
}

bool is_finished_state(std::string_view long_word) {
    const StateWord* word = find_state(long_word);
    return word != nullptr && word->finished;
}

std::string_view wait_reason(Wait wait) {
    switch (wait) {
        case Wait::None:
            return "None";
        case Wait::Resources:
        case Wait::EndlessHolders:
            return "Resources";
        case Wait::Priority:
            return "Priority";
        case Wait::NeverFits:
            return "PartitionConfig";
        case Wait::PartitionNodes:
            return "PartitionNodeLimit";
        case Wait::PartitionTime:
            return "PartitionTimeLimit";
        case Wait::PartitionDown:
            return "PartitionDown";
        case Wait::PartitionInactive:
            return "PartitionInactive";
        case Wait::NodesUnavailable:
            return "ReqNodeNotAvail";
        case Wait::Held:
            return "JobHeldUser";
        case Wait::HeldByAdmin:
            return "JobHeldAdmin";
        case Wait::BeginTime:
            return "BeginTime";
        case Wait::BackOff:
            return "JobLaunchFailure";
        case Wait::Unsupported:
            return "BadConstraints";
        case Wait::Dependency:
            return "Dependency";
    }
    return "None";
}

std::string reason_of(const model::Workload& workload,
                      const model::Verdict* verdict,
                      const model::ClusterConfig* config) {
    const model::WorkloadStatus& status = workload.status;
    if (status.state == WorkloadState::Done || status.state == WorkloadState::Completing) {
        return status.requeue_at_end ? "None" : end_reason(status.outcome);
    }
    if (status.state != WorkloadState::Pending) return "None";
    if (status.hold != Hold::None) return std::string(hold_reason(status.hold));
    if (verdict == nullptr) return "None";
    if (verdict->wait == Wait::PartitionNodes && config != nullptr &&
        !breaks_node_limit(*workload.spec, *config)) {
        return "PartitionConfig";
    }
    std::string reason(wait_reason(verdict->wait));
    if (verdict->wait == Wait::NodesUnavailable && !verdict->nodes.empty()) {
        reason += ", UnavailableNodes:" + fold_hostlist(verdict->nodes);
    }
    return reason;
}

std::string exit_code_text(std::int32_t exit_code, std::int32_t signal) {
    return std::to_string(exit_code) + ":" + std::to_string(signal);
}

}  // namespace twinyard::slurm
