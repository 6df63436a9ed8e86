#include "agent/core/attempt_memory.h"

#include "base/check.h"
#include "base/planted_bug.h"

namespace twinyard::agent {

bool AttemptMemory::seen(const api::LaunchKey& key) const {
    if (planted(PlantedBug::AgentForgetsAttempts)) return false;
    const auto found = workloads_.find(key.workload);
    if (found == workloads_.end() || found->second.attempt < key.attempt) return false;
    return found->second.attempt > key.attempt ||
           found->second.members.contains({key.group, key.member});
}

void AttemptMemory::note(const api::LaunchKey& key) {
    Seen& seen = workloads_[key.workload];
    if (seen.attempt > key.attempt) return;
    if (seen.attempt < key.attempt) seen.members.clear();
    seen.attempt = key.attempt;
    seen.members.insert({key.group, key.member});
    if (seen.held == 0) make_idle(key.workload, seen);
}

void AttemptMemory::hold(const api::LaunchKey& key) {
    Seen& seen = workloads_[key.workload];
    ++seen.held;
    if (seen.idle != 0) idle_.erase(seen.idle);
    seen.idle = 0;
}

void AttemptMemory::release(const api::LaunchKey& key) {
    const auto found = workloads_.find(key.workload);
    CHECK(found != workloads_.end() && found->second.held > 0);
    if (--found->second.held == 0) make_idle(key.workload, found->second);
}

void AttemptMemory::make_idle(model::WorkloadId id, Seen& seen) {
    if (seen.idle != 0) idle_.erase(seen.idle);
    seen.idle = ++idle_last_;
    idle_.emplace(seen.idle, id);
    while (idle_.size() > idle_max_) {
        const model::WorkloadId oldest = idle_.begin()->second;
        idle_.erase(idle_.begin());
        workloads_.erase(oldest);
    }
}

std::vector<api::LaunchKey> AttemptMemory::keys() const {
    std::vector<api::LaunchKey> keys;
    for (const auto& [id, seen] : workloads_) {
        for (const auto& [group, member] : seen.members)
            keys.push_back({id, seen.attempt, group, member});
    }
    return keys;
}

}  // namespace twinyard::agent
