#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller/core/pipeline.h"
#include "controller/shell/cluster_clock.h"
#include "controller/shell/lanes.h"
#include "controller/shell/published.h"
#include "store/store.h"

namespace twinyard::controller {

/// Who hears of a release, in this order, after the snapshot is published. Called on the state
/// thread; cheap.
struct ReleaseSinks {
    std::function<void(const model::SnapshotPtr&, model::ChangeSet&&)> changes;
    std::function<void(std::vector<api::Effect>&&)> effects;
    std::function<void(std::vector<api::AccountingRecord>&&)> outbox;
    /// About once a second; returns commands of the machinery (silence of nodes).
    std::function<std::vector<api::Command>(const Core&)> each_second;
    /// Another controller has taken over, or the store lost its mind: the process must end.
    std::function<void(const std::string& why)> fatal;
};

/// The one thread that owns the core. Flow (run): store replies → releases; commands from the lanes
/// into the pipeline; time; batches to the store; wait. It never waits for the store with commands
/// it could take.
class StateThread {
  public:
    StateThread(Pipeline pipeline,
                store::Store& store,
                model::Term term,
                RunningClock clock,
                std::shared_ptr<Lanes> lanes,
                Published& published,
                ReleaseSinks sinks);
    ~StateThread();

    void start();
    /// Commits what is open (for at most 5 s), then ends. Any thread.
    void stop();

    /// Why the store refuses at the moment; empty: it does not. Any thread.
    [[nodiscard]] std::string store_trouble() const;

  private:
    void run();
    void handle_store_replies();
    void on_store_reply(std::uint64_t seq, const store::Reply& reply);
    void retry_refused();
    void take_commands();
    void take(Lanes::Taken taken);
    void apply(const api::Command& command, const api::Principal& principal, OnReply on_reply);
    void pass_time();
    void submit_batches();
    void submit(SealedBatch batch);
    void release(Released released);
    void release_ready();
    [[nodiscard]] Lanes::Clock::time_point next_deadline() const;
    void set_trouble(std::string text);

    Pipeline pipeline_;
    store::Store& store_;
    const model::Term term_;
    RunningClock clock_;
    std::shared_ptr<Lanes> lanes_;  ///< Owners: this, and replies that the store still owes.
    Published& published_;
    ReleaseSinks sinks_;
    std::map<Token, OnReply> waiting_;
    Token next_token_ = 1;
    bool refused_ = false;  ///< The store refused; batches in flight wait for retry_at_.
    Lanes::Clock::time_point retry_at_{};
    std::size_t replies_owed_ = 0;  ///< By the store.
    Lanes::Clock::time_point next_second_{};
    mutable std::mutex trouble_mutex_;
    std::string trouble_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace twinyard::controller
