#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/agent.h"
#include "base/result.h"
#include "controller/core/core.h"
#include "store/memory/memory_store.h"

namespace twinyard::sim {

/// The store's bytes as records: what a crash at this moment would leave. Everything that leaves
/// the controller is judged against it.
class DurableView {
  public:
    explicit DurableView(const store::MemoryDisk& disk) : disk_(disk) {}

    /// Looks at what one commit has done. Empty: it was in order.
    [[nodiscard]] std::string note_commit();

    /// There is or was a record of it.
    [[nodiscard]] bool was_ever(model::WorkloadId id) const { return seen_.contains(id); }
    /// The launch may be started: its attempt is in the records.
    [[nodiscard]] bool knows_attempt(const api::LaunchKey& key) const;
    /// The records still wait for the end of this launch.
    [[nodiscard]] bool waits_for(const api::LaunchKey& key) const;
    /// Status and placement; none: there is no such record.
    [[nodiscard]] std::optional<model::Workload> workload(model::WorkloadId id) const;
    [[nodiscard]] Result<controller::Records> records() const;
    /// Keys under a prefix.
    [[nodiscard]] std::size_t count(std::string_view prefix) const;

  private:
    const store::MemoryDisk& disk_;
    store::BatchMark mark_;
    std::set<model::WorkloadId> seen_;
};

}  // namespace twinyard::sim
