#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/agent.h"

namespace twinyard::agent {

/// The highest attempt of each workload that was ever ordered here, and which launches of it: none
/// of them is started again, whatever comes late. Workloads whose launches are all forgotten are
/// kept for a while, the oldest go first.
class AttemptMemory {
  public:
    explicit AttemptMemory(std::size_t idle_max) : idle_max_(idle_max) {}

    /// The launch, or a later attempt of its workload, was ordered here before.
    [[nodiscard]] bool seen(const api::LaunchKey& key) const;
    void note(const api::LaunchKey& key);

    /// The journal holds this launch: its workload does not age.
    void hold(const api::LaunchKey& key);
    /// The other way round, once for each hold().
    void release(const api::LaunchKey& key);

    /// One key a launch of each workload's highest attempt, in order.
    [[nodiscard]] std::vector<api::LaunchKey> keys() const;

  private:
    struct Seen {
        model::Attempt attempt = 0;
        std::set<std::pair<std::uint32_t, std::uint32_t>> members;  ///< (group, member)
        std::uint32_t held = 0;
        std::uint64_t idle = 0;  ///< Its key in idle_; 0: held.
    };

    void make_idle(model::WorkloadId id, Seen& seen);

    std::size_t idle_max_;
    std::map<model::WorkloadId, Seen> workloads_;
    std::map<std::uint64_t, model::WorkloadId> idle_;
    std::uint64_t idle_last_ = 0;
};

}  // namespace twinyard::agent
