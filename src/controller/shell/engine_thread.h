#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "controller/shell/lanes.h"
#include "controller/shell/published.h"
#include "model/snapshot.h"
#include "sched/index.h"

namespace twinyard::controller {

/// Plans on its own thread, one pass at a time: follow the changes, plan if one of them may let
/// something start, hand the starts in as commands, wait until they are answered. Threads: feed(),
/// pause() and stats from any.
class EngineThread {
  public:
    EngineThread(std::shared_ptr<Lanes> lanes,
                 Published& published,
                 ClusterTime (*now)(const void*),
                 const void* clock);
    ~EngineThread();

    void start(model::SnapshotPtr first);
    void stop();

    /// What a release changed; `after` is the snapshot with it.
    void feed(model::SnapshotPtr after, model::ChangeSet changes);
    /// No starts any more (a cluster that goes down).
    void pause();

    struct Stats {
        std::uint64_t passes = 0;
        std::uint64_t last_pass_us = 0;
    };
    [[nodiscard]] Stats stats() const { return {passes_, last_pass_us_}; }

  private:
    void run();
    [[nodiscard]] bool wait_for_news();
    void follow();
    void advance(const model::ChangeSet& set, const model::Snapshot& after);
    void pass();
    void remember_shapes_that_wait();
    void hand_in(std::vector<model::PlannedStart> starts);

    std::shared_ptr<Lanes> lanes_;  // Owners: the controller's threads that push.
    Published& published_;
    ClusterTime (*now_)(const void*);
    const void* clock_;

    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<model::ChangeSet> fed_;
    model::SnapshotPtr latest_;
    std::size_t unanswered_ = 0;  ///< Slices handed in.
    bool stopping_ = false;
    bool paused_ = false;

    sched::Index index_;
    bool rebuild_ = true;  ///< Guarded by mutex_.
    // Of the engine's thread alone.
    bool something_may_start_ = true;
    std::chrono::steady_clock::time_point not_before_{};  ///< The next look at the changes.
    std::chrono::steady_clock::time_point pass_due_{};    ///< At the latest.
    std::chrono::steady_clock::time_point last_pass_{};
    /// Those that the last pass found no start for. Owners: this, index_.
    std::unordered_map<const sched::Shape*, sched::ShapePtr> shapes_that_wait_;
    std::atomic<std::uint64_t> passes_ = 0;
    std::atomic<std::uint64_t> last_pass_us_ = 0;
    std::thread thread_;
};

}  // namespace twinyard::controller
