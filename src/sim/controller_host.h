#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/core/pipeline.h"
#include "sched/index.h"
#include "sim/network.h"
#include "sim/world.h"
#include "store/memory/memory_store.h"

namespace twinyard::sim {

/// What every controller of the cluster has released so far: none of it may go back.
struct ReleasedFacts {
    std::map<model::WorkloadId, model::Attempt> attempts;
};

/// One controller process: the production pipeline, core and engine in the loop of its shell, on
/// one thread. A restart is a new one, from the store's bytes.
class ControllerHost final : public ControllerEnd {
  public:
    using OnReply = std::function<void(Result<api::Reply>)>;
    struct Item {
        api::Command command;
        api::Principal principal;
        OnReply on_reply;
        bool of_user = false;  ///< Refused while the store refuses.
    };

    ControllerHost(World& world,
                   Network& network,
                   ReleasedFacts& facts,
                   model::ClusterConfigPtr config,
                   controller::PipelineLimits limits);

    /// Takes the term and loads. False: the store could not be read; try again with a new one.
    [[nodiscard]] bool start();
    void push(Item item);
    void crash(std::string_view why);

    [[nodiscard]] bool is_up() const { return up_; }
    [[nodiscard]] Owner owner() const { return owner_; }
    [[nodiscard]] const controller::Core& core() const { return pipeline_->core(); }
    /// What was released last; null before anything was.
    [[nodiscard]] const model::Snapshot& released() const { return latest_; }
    /// Empty: nothing waits for the store, and nothing is queued.
    [[nodiscard]] std::string why_busy() const;

    void on_hello(LinkId link, const api::AgentHello& hello) override;
    void on_report(LinkId link, std::uint64_t seq, const api::AgentReport& report) override;
    void on_closed(LinkId link) override;

  private:
    // The state thread.
    void wake(Millis delay);
    void turn();
    void take_store_replies();
    void on_store_reply(std::uint64_t seq, const store::Reply& reply);
    void retry_refused();
    void take_commands();
    void apply(const api::Command& command, const api::Principal& principal, OnReply on_reply);
    void pass_time();
    void submit_batches();
    void submit(controller::SealedBatch sealed);
    void pump();
    [[nodiscard]] store::Fault pick_fault();
    void release(controller::Released released);
    void release_ready();
    void plan_next_turn();
    [[nodiscard]] ClusterTime cluster_now() const;

    // Agents.
    void send(std::vector<api::Effect> effects);
    [[nodiscard]] std::vector<api::Command> each_second();

    // The engine.
    void feed(model::Snapshot after, model::ChangeSet changes);
    void plan_pass(Millis delay);
    void pass();

    // The history.
    void record(std::vector<api::AccountingRecord> rows);
    void write_history();

    [[nodiscard]] bool is_superseded() const;
    void check_core();
    void check_reload();
    void check_changes(const model::ChangeSet& changes);

    World& world_;
    Network& network_;
    ReleasedFacts& facts_;
    model::ClusterConfigPtr config_;
    controller::PipelineLimits limits_;
    Owner owner_;
    bool up_ = false;

    store::MemoryStore store_;
    controller::Settings settings_;
    std::optional<controller::Pipeline> pipeline_;
    ClusterTime clock_start_{};
    Millis boot_{0};

    std::deque<Item> items_;
    std::deque<std::pair<std::uint64_t, store::Reply>> store_replies_;
    std::deque<std::uint64_t> given_out_;
    std::map<controller::Token, OnReply> waiting_;
    controller::Token next_token_ = 1;
    bool refused_ = false;
    Millis retry_at_{0};
    std::size_t replies_owed_ = 0;
    Millis next_second_{0};
    Millis pumped_at_{0};
    std::optional<Millis> turn_at_;
    std::uint64_t turn_plan_ = 0;
    std::uint64_t turns_ = 0;

    struct Heard {
        Millis last{0};
    };
    std::set<LinkId> sessions_;
    std::set<LinkId> heard_;
    std::map<model::NodeId, Heard> nodes_;

    sched::Index index_;
    model::Snapshot latest_;
    std::vector<model::ChangeSet> fed_;
    std::size_t unanswered_ = 0;
    std::optional<Millis> pass_at_;
    std::uint64_t pass_plan_ = 0;
    std::uint64_t passes_ = 0;

    std::deque<api::AccountingRecord> rows_;
    bool writing_ = false;
};

}  // namespace twinyard::sim
