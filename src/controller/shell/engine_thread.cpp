#include "controller/shell/engine_thread.h"

#include <algorithm>
#include <utility>

#include "os/boot_clock.h"
#include "sched/limits.h"
#include "sched/plan.h"

namespace twinyard::controller {
namespace {

using std::chrono::milliseconds;

// Time alone changes the plan too (ages, ends that come nearer): a pass is made at least so often.
constexpr milliseconds kPassAtLeastEach{5'000};
// Changes that let nothing start (one more job of a kind that waits already) only want verdicts.
constexpr milliseconds kVerdictsWithin{1'000};
// A storm of such changes is followed in portions.
constexpr milliseconds kFollowPause{5};
// More change sets than this at once are cheaper as a new index.
constexpr std::size_t kFollowMax = 10'000;

const api::Principal kEngine{.uid = 0, .gid = 0, .is_admin = true};

}  // namespace

EngineThread::EngineThread(std::shared_ptr<Lanes> lanes,
                           Published& published,
                           ClusterTime (*now)(const void*),
                           const void* clock)
    : lanes_(std::move(lanes)), published_(published), now_(now), clock_(clock) {}

EngineThread::~EngineThread() {
    stop();
}

void EngineThread::start(model::SnapshotPtr first) {
    latest_ = std::move(first);
    thread_ = std::thread([this] { run(); });
}

void EngineThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    news_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void EngineThread::feed(model::SnapshotPtr after, model::ChangeSet changes) {
    {
        const std::lock_guard lock(mutex_);
        latest_ = std::move(after);
        if (fed_.size() < kFollowMax) {
            fed_.push_back(std::move(changes));
        } else {
            rebuild_ = true;
            fed_.clear();
        }
    }
    news_.notify_all();
}

void EngineThread::pause() {
    const std::lock_guard lock(mutex_);
    paused_ = true;
}

void EngineThread::run() {
    while (wait_for_news()) {
        follow();
        if (something_may_start_ || std::chrono::steady_clock::now() >= pass_due_) pass();
    }
}

/// Returns when there is something to follow or a pass is due, and not before the last pass's own
/// time has passed again: the engine never takes more than about half a core from the others.
bool EngineThread::wait_for_news() {
    std::unique_lock lock(mutex_);
    news_.wait_until(lock, pass_due_, [this] {
        return stopping_ || (unanswered_ == 0 && (!fed_.empty() || rebuild_) && !paused_);
    });
    news_.wait_until(lock, not_before_, [this] { return stopping_; });
    news_.wait(lock, [this] { return stopping_ || unanswered_ == 0; });
    return !stopping_;
}

void EngineThread::follow() {
    std::vector<model::ChangeSet> changes;
    model::SnapshotPtr after;
    bool rebuild = false;
    {
        const std::lock_guard lock(mutex_);
        changes.swap(fed_);
        after = latest_;
        rebuild = std::exchange(rebuild_, false);
    }
    not_before_ = std::chrono::steady_clock::now() + kFollowPause;
    if (rebuild) {
        something_may_start_ = true;
        index_ = sched::Index::build(*after);
        return;
    }
    if (!changes.empty()) pass_due_ = std::min(pass_due_, last_pass_ + kVerdictsWithin);
    for (const model::ChangeSet& set : changes)
        advance(set, *after);
}

void EngineThread::advance(const model::ChangeSet& set, const model::Snapshot& after) {
    using News = sched::Index::News;
    std::vector<model::WorkloadId> new_pending;
    for (const model::Change& change : set.changes) {
        if (something_may_start_) break;
        const News news = index_.news_of(change);
        something_may_start_ = news == News::Other;
        if (news == News::NewPending)
            new_pending.push_back(std::get<model::WorkloadChange>(change).id);
    }
    index_.advance(set, after);
    for (const model::WorkloadId id : new_pending) {
        const sched::PendingEntry* entry = index_.pending().find(id.value());
        something_may_start_ |= entry != nullptr && !shapes_that_wait_.contains(entry->shape.get());
    }
}

void EngineThread::pass() {
    {
        const std::lock_guard lock(mutex_);
        pass_due_ = std::chrono::steady_clock::now() + kPassAtLeastEach;
        if (paused_) return;
    }
    const auto begun = std::chrono::steady_clock::now();
    auto plan = sched::plan(index_, now_(clock_), os::wall_now(), index_.config().priority);
    const auto took = std::chrono::steady_clock::now() - begun;
    last_pass_us_ = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    ++passes_;
    last_pass_ = begun;
    not_before_ = begun + 2 * took;
    // Starts that are refused, or more than one plan holds: the next pass looks again.
    something_may_start_ = !plan.starts.empty();
    if (!something_may_start_) remember_shapes_that_wait();
    std::vector<model::PlannedStart> starts = std::move(plan.starts);
    plan.starts.clear();
    published_.set(std::make_shared<const model::Plan>(std::move(plan)));
    hand_in(std::move(starts));
}

/// After a pass without a start. What is held, or waits for its time, was not tried.
void EngineThread::remember_shapes_that_wait() {
    shapes_that_wait_.clear();
    const WallTime wall = os::wall_now();
    index_.pending().for_each([&](std::uint64_t, const sched::PendingEntry& entry) {
        const model::Workload& workload = *entry.workload;
        const bool was_tried = sched::own_limit(workload, now_(clock_), wall) == model::Wait::None;
        if (was_tried) shapes_that_wait_.try_emplace(entry.shape.get(), entry.shape);
    });
}

void EngineThread::hand_in(std::vector<model::PlannedStart> starts) {
    for (std::size_t at = 0; at < starts.size(); at += kPlanStartsMax) {
        api::ApplyPlan slice;
        const std::size_t end = std::min(starts.size(), at + kPlanStartsMax);
        for (std::size_t i = at; i < end; ++i)
            slice.starts.push_back(std::move(starts[i]));
        Item item{.command = std::move(slice), .principal = kEngine};
        item.on_reply = [this](const Result<api::Reply>&) {
            {
                const std::lock_guard lock(mutex_);
                --unanswered_;
            }
            news_.notify_all();
        };
        {
            const std::lock_guard lock(mutex_);
            ++unanswered_;
        }
        if (lanes_->try_push(Lane::Plan, std::move(item))) continue;
        const std::lock_guard lock(mutex_);
        --unanswered_;  // A full lane: what is left is found again by the next pass.
        return;
    }
}

}  // namespace twinyard::controller
