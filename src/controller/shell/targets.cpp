#include "controller/shell/targets.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "slurm/rows.h"

namespace twinyard::controller {
namespace {

constexpr std::size_t kSlicesInLane = 32;

bool only_ids(const api::JobTargets& t) {
    return t.names.empty() && t.partitions.empty() && t.accounts.empty() && t.qos.empty() &&
           t.states.empty() && t.nodes.empty() && t.uids.empty();
}

class Sliced : public std::enable_shared_from_this<Sliced> {
  public:
    Sliced(std::shared_ptr<Lanes> lanes,
           api::Principal principal,
           std::vector<model::WorkloadId> targets,
           MakeCommand make,
           OnAllDone done)
        : lanes_(std::move(lanes)),
          principal_(principal),
          targets_(std::move(targets)),
          make_(std::move(make)),
          done_(std::move(done)),
          results_(targets_.size()) {}

    void go_on() {
        for (;;) {
            std::size_t first = 0;
            std::size_t count = 0;
            {
                const std::lock_guard lock(mutex_);
                if (next_ == targets_.size() || in_lane_ == kSlicesInLane) break;
                first = next_;
                count = std::min(api::kCommandTargetsMax, targets_.size() - first);
                next_ += count;
                ++in_lane_;
            }
            push(first, count);
        }
        finish_if_done();
    }

  private:
    void push(std::size_t first, std::size_t count) {
        const auto begin = targets_.begin() + static_cast<std::ptrdiff_t>(first);
        Item item{.command = make_({begin, begin + static_cast<std::ptrdiff_t>(count)}),
                  .principal = principal_};
        item.on_reply = [self = shared_from_this(), first, count](Result<api::Reply> reply) {
            self->take(first, count, std::move(reply));
            self->go_on();
        };
        if (lanes_->try_push(Lane::Control, std::move(item))) return;
        take(first, count, fail(ErrorCode::Unavailable, "the controller is busy; try again"));
    }

    void take(std::size_t first, std::size_t count, Result<api::Reply> reply) {
        const std::lock_guard lock(mutex_);
        --in_lane_;
        auto* affected = reply ? std::get_if<api::Affected>(&*reply) : nullptr;
        for (std::size_t i = 0; i < count; ++i) {
            if (!reply) {
                results_[first + i] = fail(reply.error());
            } else if (affected != nullptr && i < affected->results.size()) {
                results_[first + i] = std::move(affected->results[i]);
            }
        }
        answered_ += count;
    }

    void finish_if_done() {
        {
            const std::lock_guard lock(mutex_);
            if (answered_ != targets_.size() || finished_) return;
            finished_ = true;
        }
        done_(std::move(results_));
    }

    std::shared_ptr<Lanes> lanes_;
    const api::Principal principal_;
    const std::vector<model::WorkloadId> targets_;
    const MakeCommand make_;
    OnAllDone done_;
    std::mutex mutex_;
    std::vector<Status> results_;
    std::size_t next_ = 0, in_lane_ = 0, answered_ = 0;
    bool finished_ = false;
};

}  // namespace

ResolvedTargets resolve(const api::JobTargets& targets, const model::Snapshot& snapshot) {
    ResolvedTargets resolved;
    if (!only_ids(targets)) {
        snapshot.workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
            if (slurm::matches(targets, snapshot, *workload)) resolved.found.push_back(workload);
        });
        return resolved;
    }
    for (const std::uint32_t job : targets.jobs) {
        const model::WorkloadId* id = snapshot.jobs.find(job);
        const model::WorkloadPtr* workload =
            id == nullptr ? nullptr : snapshot.workloads.find(id->value());
        if (workload == nullptr) {
            resolved.unknown.push_back(job);
        } else {
            resolved.found.push_back(*workload);
        }
    }
    return resolved;
}

void for_all_targets(std::shared_ptr<Lanes> lanes,
                     const api::Principal& principal,
                     std::vector<model::WorkloadId> targets,
                     MakeCommand make,
                     OnAllDone done) {
    std::make_shared<Sliced>(
        std::move(lanes), principal, std::move(targets), std::move(make), std::move(done))
        ->go_on();
}

}  // namespace twinyard::controller
