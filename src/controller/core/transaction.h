#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/core/derive.h"
#include "controller/core/state.h"

namespace twinyard::controller {

/// One command at work: changes the state object by object and gathers the records, changes and
/// effects that go with it. A handler decides first and changes then: what it refuses, it has not
/// touched.
class Transaction {
  public:
    Transaction(Core::State& state, const api::Envelope& envelope);

    [[nodiscard]] const Core::State& state() const { return state_; }
    /// For what is not an object: the backlog, and what is remembered of nodes.
    [[nodiscard]] Core::State& memory() { return state_; }
    [[nodiscard]] const model::Snapshot& view() const { return state_.view; }
    [[nodiscard]] const model::ClusterConfig& config() const { return *state_.view.config; }
    [[nodiscard]] const api::Principal& principal() const { return principal_; }
    /// Never before the time of an earlier command.
    [[nodiscard]] ClusterTime now() const { return state_.view.time; }
    [[nodiscard]] WallTime wall() const { return state_.view.wall; }

    /// False: stop here, and leave the rest to the next slice.
    [[nodiscard]] bool has_room();

    /// The new content of a workload: kept at once, indexed, and written once at the end. The
    /// revision is given here.
    const model::Workload& put(model::Workload next);
    void remove(model::WorkloadId id);
    const model::Node& put_node(model::Node next);
    void drop_node(model::NodeId id);
    /// The configuration has been replaced.
    void note_config();

    void store_blob(const api::Blob& blob);
    void drop_blob(const ContentHash& hash);
    void record(api::AccountingRecord record);
    void drop_record(std::uint64_t seq);
    void remember(const api::PutRequest& request);
    void forget_request(const api::RequestId& id);
    [[nodiscard]] api::Counters& counters();

    /// Its end is in the records by the time this leaves: the agent's journal may drop it.
    void forget(model::NodeId node, const api::LaunchKey& key);
    void signal(model::NodeId node, const api::SignalOrder& order);
    void send_full(model::NodeId node);
    /// A launch that is over still runs there: it is told to stop until it says that it has.
    void stop_stray(model::NodeId node, const api::LaunchKey& key);
    void refuse_node(std::uint64_t session, std::string text);
    void acknowledge(std::uint64_t session, std::uint64_t number);

    [[nodiscard]] api::Applied finish(Result<api::Reply> reply);

  private:
    struct Touch {
        bool spec = false, placement = false, removed = false;
    };
    /// What is new for one node's agent.
    struct Orders {
        bool full = false;
        std::set<model::WorkloadId> changed;
        std::set<api::LaunchKey> forget;
        std::set<api::LaunchKey> strays;
        std::vector<api::SignalOrder> signals;
    };

    void note_orders(const model::Workload* old, const model::Workload* now);
    [[nodiscard]] std::size_t mutations_so_far() const;
    void write_objects(api::Applied& out) const;
    void send_orders(std::vector<api::Effect>& out);
    [[nodiscard]] api::NodeOrders orders_for(model::NodeId node, const Orders& parts);

    Core::State& state_;
    api::Principal principal_;
    std::map<model::WorkloadId, Touch> touched_;
    std::set<model::NodeId> touched_nodes_;
    std::map<model::NodeId, Orders> orders_;
    std::vector<api::Mutation> others_;
    std::vector<api::Effect> last_effects_;
    bool counters_changed_ = false;
    bool config_changed_ = false;
    std::size_t steps_ = 0;
};

}  // namespace twinyard::controller
