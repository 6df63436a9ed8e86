#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/core/attempt_memory.h"
#include "agent/core/events.h"
#include "agent/core/launch_table.h"

namespace twinyard::agent {

/// One launch, from its order until the controller forgets it.
struct Launch {
    /// As ordered last; absent: an orphan, which full orders did not name.
    std::optional<api::DesiredRun> desired;
    api::LaunchOrder order;  ///< As it was started; only the key of what never was.
    api::ObservedRun seen;
    std::map<std::uint32_t, api::StepRecord> steps;  ///< Not yet acknowledged, by number.
    bool may_have_run = false;  ///< The user's processes may have been started.
};

/// What one node should run and does run. Pure; answers go to `out` in order.
class NodeCore {
  public:
    NodeCore(NodeIndex index, std::string name, std::size_t forgotten_max);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::map<api::LaunchKey, Launch>& launches() const { return launches_; }
    /// Of the desired state as we hold it.
    [[nodiscard]] std::uint64_t digest() const { return digest_; }
    /// The controller's last orders led to another state than ours: tell it our digest.
    [[nodiscard]] bool disagrees() const { return digest_ != expected_digest_; }

    /// Before anything else, entry by entry.
    void replay(const JournalEntry& entry);
    /// After the last one: find out about all that had not ended.
    void adopt(std::vector<Effect>& out) const;
    /// What a new journal needs to hold in place of the old one.
    void write_journal(std::vector<JournalEntry>& out) const;

    void on_orders(const api::NodeOrders& orders, Now now, std::vector<Effect>& out);
    void on_started(const StepdStarted& event, std::vector<Effect>& out);
    void on_connected(const api::LaunchKey& key, std::vector<Effect>& out) const;
    void on_observed(const api::ObservedRun& run, std::vector<Effect>& out);
    void on_gone(const StepdGone& event, Now now, std::vector<Effect>& out);
    void on_step(const api::StepRecord& record);

    // Reports. Nothing is said before the controller's first orders on this connection.
    void on_connection();
    /// Something is to be said, and nothing is under way.
    [[nodiscard]] bool has_news() const;
    [[nodiscard]] bool in_flight() const { return in_flight_; }
    /// What is to be said now; it counts as under way until one of the next two.
    [[nodiscard]] api::NodeReport take_report();
    void on_acked();
    void on_failed();
    /// Says the digest with the next report, news or not.
    void say_digest() { digest_wanted_ = true; }
    /// Once a heartbeat while unsettled(): ends that were heard but not forgotten are said again
    /// (the Forget may be lost), and so is a digest that differs.
    void repeat();
    [[nodiscard]] bool unsettled() const { return !ended_.empty() || disagrees(); }

  private:
    using StepName = std::pair<api::LaunchKey, std::uint32_t>;

    Launch& insert(const api::LaunchOrder& order);
    void erase(const api::LaunchKey& key);
    void set_desired(Launch& launch, std::optional<api::DesiredRun> desired);
    void append(std::vector<Effect>& out, JournalEntry entry, bool durable) const;

    void order_run(const api::DesiredRun& run, Now now, std::vector<Effect>& out);
    void order_known(Launch& launch, const api::DesiredRun& run, std::vector<Effect>& out);
    void order_unknown(const api::DesiredRun& run, Now now, std::vector<Effect>& out);
    void end_unstarted(const api::DesiredRun& run,
                       model::Outcome outcome,
                       Now now,
                       std::vector<Effect>& out);
    void orphan_unnamed(const api::NodeOrders& orders);
    void forget(const api::LaunchKey& key, std::vector<Effect>& out);
    void end(Launch& launch, api::ObservedRun run, std::vector<Effect>& out);

    void take_steps(api::NodeReport& report);

    NodeIndex index_;
    std::string name_;
    AttemptMemory attempts_;
    std::map<api::LaunchKey, Launch> launches_;
    std::map<api::LaunchKey, Started> started_;  ///< Of the journal, for adoption.
    std::set<api::LaunchKey> ended_;             ///< Ended, and not yet forgotten.
    std::uint64_t digest_ = 0;
    std::uint64_t expected_digest_ = 0;

    bool welcomed_ = false;
    bool full_wanted_ = false;
    bool digest_wanted_ = false;
    std::set<api::LaunchKey> news_;
    std::set<StepName> step_news_;
    bool in_flight_ = false;
    bool full_said_ = false;
    std::set<api::LaunchKey> said_;
    std::vector<std::pair<StepName, api::StepRecord>> steps_said_;
};

}  // namespace twinyard::agent
