#include "sched/forecast.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "model/ledger.h"
#include "sched/limits.h"
#include "sched/order.h"
#include "sched/plan.h"

namespace twinyard::sched {
namespace {

/// The queue run forward on a copy of the index: pass, then on to the next end, and so forth.
class Replay {
  public:
    Replay(const Index& index,
           ClusterTime now,
           WallTime wall,
           const model::PriorityPolicy& policy,
           const ForecastOptions& options)
        : index_(index), began_(now), now_(now), wall_(wall), policy_(policy), options_(options) {
        forecast_.based_on = index.revision();
        forecast_.at = now;
        keep_first();
        note_ends();
    }

    model::Forecast run() {
        while (!waiting_.empty() && work_ < options_.work_max) {
            if (pass()) continue;  // Cut short by its budget: more may start at this very time.
            if (go_on()) continue;
            for (const model::WorkloadId id : waiting_)
                forecast_.starts.emplace(id, std::nullopt);
            break;
        }
        return std::move(forecast_);
    }

  private:
    [[nodiscard]] WallTime wall_now() const { return wall_ + (now_ - began_); }

    void keep_first() {
        for (const Alternative& each : order_of(index_, policy_, now_)) {
            if (waiting_.size() >= options_.workloads) break;
            waiting_.insert(each.workload);
        }
        std::vector<model::WorkloadId> dropped;
        index_.pending().for_each([&](std::uint64_t id, const PendingEntry&) {
            if (!waiting_.contains(model::WorkloadId{id})) dropped.emplace_back(id);
        });
        for (const model::WorkloadId id : dropped)
            index_.put(id, nullptr);
    }

    void note_ends() {
        std::vector<model::WorkloadPtr> starting;
        index_.holders().for_each([&](std::uint64_t id, const model::WorkloadPtr& holder) {
            const auto end = expected_end(*holder, index_.config(), now_);
            if (end) ends_.emplace(*end, model::WorkloadId{id});
            if (holder->status.state == model::WorkloadState::Starting) starting.push_back(holder);
        });
        // As if they ran from now on: their end would move on with the replay otherwise.
        for (const model::WorkloadPtr& holder : starting) {
            auto running = std::make_shared<model::Workload>(*holder);
            running->status.state = model::WorkloadState::Running;
            running->status.started = now_;
            index_.put(holder->id, std::move(running));
        }
    }

    /// True if it should be run again at the same time.
    bool pass() {
        Budget budget;
        budget.verdicts = false;
        const model::Plan planned = plan(index_, now_, wall_now(), policy_, budget);
        work_ += index_.nodes().size() + index_.holders().size() + waiting_.size() + 1;
        for (const model::PlannedStart& start : planned.starts)
            begin(start);
        return planned.starts.size() >= budget.starts_max;
    }

    void begin(const model::PlannedStart& start) {
        const model::WorkloadPtr pending = index_.pending().find(start.workload.value())->workload;
        auto placement = std::make_shared<model::Placement>();
        placement->partition = start.partition;
        std::map<model::NodeId, model::NodeUse> uses;
        for (const model::PlannedGrant& grant : start.grants) {
            const NodeRow& row = index_.nodes()[index_.find_node(grant.node)];
            model::NodeUse& use = uses.try_emplace(grant.node, row.use).first->second;
            placement->grants.push_back(model::settle(*row.node, use, grant, *pending->spec));
            model::take(use, placement->grants.back(), *pending->spec);
            forecast_.nodes[start.workload].push_back(grant.node);
        }
        auto running = std::make_shared<model::Workload>(*pending);
        running->placement = std::move(placement);
        running->status.state = model::WorkloadState::Running;
        running->status.started = now_;
        running->status.suspended_total = Millis{0};
        const auto end = expected_end(*running, index_.config(), now_);
        if (end) ends_.emplace(*end, start.workload);
        index_.put(start.workload, std::move(running));
        forecast_.starts[start.workload] = now_;
        waiting_.erase(start.workload);
    }

    /// To the next time at which something can start. False: there is none.
    bool go_on() {
        std::optional<ClusterTime> next;
        if (!ends_.empty()) next = ends_.begin()->first;
        for (const model::WorkloadId id : waiting_) {
            const PendingEntry* entry = index_.pending().find(id.value());
            const auto freed = own_limit_ends(*entry->workload, now_, wall_now());
            if (freed && (!next || *freed < *next)) next = freed;
        }
        if (!next) return false;
        now_ = *next;
        if (index_.holders().size() > options_.coarse_from) now_ += options_.coarse_span;
        while (!ends_.empty() && ends_.begin()->first <= now_) {
            end(ends_.begin()->second);
            ends_.erase(ends_.begin());
        }
        return true;
    }

    /// It is gone. (What waits again and holds fenced grants goes on waiting without them.)
    void end(model::WorkloadId id) {
        const PendingEntry* entry = index_.pending().find(id.value());
        if (entry == nullptr) {
            index_.put(id, nullptr);
            return;
        }
        auto freed = std::make_shared<model::Workload>(*entry->workload);
        freed->status.fenced.clear();
        index_.put(id, std::move(freed));
    }

    Index index_;
    ClusterTime began_, now_;
    WallTime wall_;
    const model::PriorityPolicy& policy_;
    ForecastOptions options_;
    std::set<model::WorkloadId> waiting_;
    std::set<std::pair<ClusterTime, model::WorkloadId>> ends_;
    std::uint64_t work_ = 0;
    model::Forecast forecast_;
};

}  // namespace

model::Forecast forecast(const Index& index,
                         ClusterTime now,
                         WallTime wall,
                         const model::PriorityPolicy& policy,
                         const ForecastOptions& options) {
    return Replay(index, now, wall, policy, options).run();
}

}  // namespace twinyard::sched
