#include "sched/limits.h"

#include <algorithm>

namespace twinyard::sched {
namespace {

/// Until when a demand for few switches stands; none: for ever. There is no topology yet.
std::optional<Millis> switches_wait(const model::WorkloadSpec& spec) {
    Millis longest{0};
    for (const model::TaskGroup& group : spec.groups) {
        if (!group.where.switches_max) continue;
        if (!group.where.switches_wait) return std::nullopt;
        longest = std::max(longest, *group.where.switches_wait);
    }
    return longest;
}

ClusterTime waits_since(const model::Workload& workload) {
    return std::max(workload.status.submitted, workload.status.eligible);
}

}  // namespace

std::optional<Millis> limit_in(const model::WorkloadSpec& spec, const model::Partition& partition) {
    return model::limit_of(spec, model::default_limit(partition));
}

std::optional<ClusterTime> expected_end(const model::Workload& workload,
                                        const model::ClusterConfig& config,
                                        ClusterTime now) {
    const model::WorkloadStatus& status = workload.status;
    const bool runs_on =
        model::holds_resources(status.state) && status.state != model::WorkloadState::Completing;
    if (!runs_on || workload.placement == nullptr) return now + kOverrunStep;
    const model::Partition* partition =
        model::find_partition(config, workload.placement->partition);
    const std::optional<Millis> limit =
        partition == nullptr ? workload.spec->time_limit : limit_in(*workload.spec, *partition);
    if (!limit) return std::nullopt;
    ClusterTime end = now + *limit;
    if (status.state != model::WorkloadState::Starting)
        end = status.started + status.suspended_total + *limit;
    if (status.state == model::WorkloadState::Suspended) end += now - status.suspended_since;
    return end > now ? end : now + kOverrunStep;
}

model::Wait own_limit(const model::Workload& workload, ClusterTime now, WallTime wall) {
    const model::WorkloadSpec& spec = *workload.spec;
    switch (workload.status.hold) {
        case model::Hold::None:
            break;
        case model::Hold::User:
            return model::Wait::Held;
        case model::Hold::Admin:
        case model::Hold::RequeueLimit:
        case model::Hold::LaunchFailed:
            return model::Wait::HeldByAdmin;
    }
    if (spec.priority == 0U) return model::Wait::HeldByAdmin;
    if (spec.begin && *spec.begin > wall) return model::Wait::BeginTime;
    if (workload.status.not_before > now) return model::Wait::BackOff;
    const std::optional<Millis> wait = switches_wait(spec);
    if (!wait || (wait->count() > 0 && waits_since(workload) + *wait > now))
        return model::Wait::Unsupported;
    return model::Wait::None;
}

std::optional<ClusterTime> own_limit_ends(const model::Workload& workload,
                                          ClusterTime now,
                                          WallTime wall) {
    switch (own_limit(workload, now, wall)) {
        case model::Wait::BeginTime:
            return now + (*workload.spec->begin - wall);
        case model::Wait::BackOff:
            return workload.status.not_before;
        case model::Wait::Unsupported: {
            const std::optional<Millis> wait = switches_wait(*workload.spec);
            if (!wait) return std::nullopt;
            return waits_since(workload) + *wait;
        }
        default:
            return std::nullopt;
    }
}

model::Wait partition_limit(const model::WorkloadSpec& spec,
                            const model::Partition& partition,
                            std::uint32_t nodes_there) {
    switch (partition.state) {
        case model::PartitionState::Down:
            return model::Wait::PartitionDown;
        case model::PartitionState::Inactive:
            return model::Wait::PartitionInactive;
        case model::PartitionState::Up:
        case model::PartitionState::Drain:
            break;  // What waits already may still start.
    }
    const std::uint32_t most = std::min(nodes_there, partition.nodes_max.value_or(nodes_there));
    for (const model::TaskGroup& group : spec.groups) {
        if (group.nodes.min > most || group.nodes.max < partition.nodes_min)
            return model::Wait::PartitionNodes;
    }
    if (partition.time_max && spec.time_limit && *spec.time_limit > *partition.time_max)
        return model::Wait::PartitionTime;
    return model::Wait::None;
}

}  // namespace twinyard::sched
