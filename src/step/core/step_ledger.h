#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "step/core/step_layout.h"

namespace twinyard::step {

/// One node of the job, as the ledger counts it.
struct LedgerNode {
    std::string name;
    std::uint32_t cpus = 0, devices = 0;
    std::uint32_t tasks = 0;  ///< Of the job itself.
};

/// A step that may start.
struct StepGrant {
    std::uint64_t ticket = 0;
    std::uint32_t step = 0;
    std::uint32_t total_tasks = 0;
    std::vector<StepPlace> places;
};

/// It waits until other steps give back what it needs.
struct StepWaits {};

using StepAnswer = std::variant<StepGrant, StepWaits, StepRefusal>;

/// The job's inner ledger: step numbers, which of the job's cpus and devices steps use, and who
/// waits for them. Numbers are given once, the caller keeps next_step() durably before it uses one.
class StepLedger {
  public:
    static constexpr std::size_t kWaitingMax = 1'000;
    static constexpr std::uint32_t kStepsMax = 40'000;

    StepLedger(std::vector<LedgerNode> nodes, std::uint32_t next_step);

    /// `ticket` names the request until it has a step; it is never used again.
    [[nodiscard]] StepAnswer ask(std::uint64_t ticket, const StepNeed& need);
    /// The waiting request is no longer wanted.
    void withdraw(std::uint64_t ticket);
    /// A step ended: what it had is free.
    void give_back(std::uint32_t step);
    /// Those that waited and can start now, in order of arrival; one that does not fit holds up
    /// nobody.
    [[nodiscard]] std::vector<StepGrant> start_waiting();

    [[nodiscard]] std::uint32_t next_step() const { return next_step_; }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    struct Use {
        bool overlap = false;
        std::vector<StepPlace> places;
    };
    [[nodiscard]] std::vector<NodeRoom> rooms(bool only_free) const;
    [[nodiscard]] std::optional<StepGrant> try_start(std::uint64_t ticket, const StepNeed& need);

    std::vector<LedgerNode> nodes_;
    std::vector<std::uint32_t> job_tasks_;
    std::map<std::uint32_t, Use> used_;
    std::deque<std::pair<std::uint64_t, StepNeed>> waiting_;
    std::uint32_t next_step_;
};

}  // namespace twinyard::step
