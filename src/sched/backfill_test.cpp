#include "sched/backfill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sched/testing.h"

namespace twinyard::sched {
namespace {

using testing::Dice;
using testing::Yard;

struct TraceJob {
    std::int64_t arrives = 0, runs = 0, limit = 0;  ///< Seconds.
    std::int64_t cpus = 1;
};

std::vector<TraceJob> random_trace(Dice& dice, std::int64_t machine) {
    std::vector<TraceJob> jobs;
    std::int64_t time = 0;
    for (int i = 0; i < 60; ++i) {
        time += dice.roll(40);
        TraceJob job;
        job.arrives = time;
        job.limit = 10 + dice.roll(200);
        job.runs =
            dice.once_in(3) ? job.limit : 1 + dice.roll(static_cast<std::uint32_t>(job.limit));
        job.cpus =
            1 + dice.roll(static_cast<std::uint32_t>(dice.once_in(4) ? machine : machine / 3));
        jobs.push_back(job);
    }
    return jobs;
}

/// First come first served and EASY on one machine, straight from their definitions.
class Reference {
  public:
    Reference(std::vector<TraceJob> jobs, std::int64_t machine, bool easy)
        : jobs_(std::move(jobs)), free_(machine), easy_(easy), starts_(jobs_.size(), -1) {}

    std::vector<std::int64_t> run() {
        for (std::int64_t time = 0;; ++time) {
            for (std::size_t i = 0; i < jobs_.size(); ++i) {
                if (starts_[i] >= 0 && starts_[i] + jobs_[i].runs == time) free_ += jobs_[i].cpus;
                if (jobs_[i].arrives == time) queue_.push_back(i);
            }
            schedule(time);
            if (std::ranges::count(starts_, -1) == 0) return starts_;
        }
    }

  private:
    void start(std::size_t job, std::int64_t time) {
        starts_[job] = time;
        free_ -= jobs_[job].cpus;
    }

    void schedule(std::int64_t time) {
        while (!queue_.empty() && jobs_[queue_.front()].cpus <= free_) {
            start(queue_.front(), time);
            queue_.erase(queue_.begin());
        }
        if (!easy_ || queue_.empty()) return;
        std::vector<std::pair<std::int64_t, std::int64_t>> ends;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (starts_[i] >= 0 && starts_[i] + jobs_[i].runs > time)
                ends.emplace_back(starts_[i] + jobs_[i].limit, jobs_[i].cpus);
        }
        std::ranges::sort(ends);
        std::int64_t at_shadow = free_, shadow = time;
        for (const auto& [end, cpus] : ends) {
            if (at_shadow >= jobs_[queue_.front()].cpus && end > shadow) break;
            at_shadow += cpus;
            shadow = end;
        }
        std::int64_t extra = at_shadow - jobs_[queue_.front()].cpus;
        for (std::size_t i = 1; i < queue_.size();) {
            const TraceJob& job = jobs_[queue_[i]];
            const bool ends_before = time + job.limit <= shadow;
            if (job.cpus > free_ || (!ends_before && job.cpus > extra)) {
                ++i;
                continue;
            }
            if (!ends_before) extra -= job.cpus;
            start(queue_[i], time);
            queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    std::vector<TraceJob> jobs_;
    std::int64_t free_;
    bool easy_;
    std::vector<std::int64_t> starts_;
    std::vector<std::size_t> queue_;
};

/// The same trace through the engine.
std::vector<std::int64_t> engine_starts(const std::vector<TraceJob>& jobs,
                                        std::int64_t machine,
                                        bool easy) {
    Yard yard("node n1 cpus=" + std::to_string(machine) + "\npartition all nodes=all\npolicy fifo" +
              (easy ? "\n" : " backfill=no\n"));
    const ClusterTime began = yard.now;
    std::vector<std::int64_t> starts(jobs.size(), -1);
    for (std::int64_t time = 0; std::ranges::count(starts, -1) > 0; ++time) {
        yard.now = began + Seconds{time};
        bool changed = false;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (starts[i] >= 0 && starts[i] + jobs[i].runs == time) {
                yard.finish(model::WorkloadId{i + 1});
                changed = true;
            }
            if (jobs[i].arrives != time) continue;
            model::WorkloadSpec spec;
            spec.partitions = {"all"};
            spec.groups.resize(1);
            spec.groups[0].nodes = {1, 1};
            spec.groups[0].per_member.cpu_milli = 1000 * jobs[i].cpus;
            spec.time_limit = Seconds{jobs[i].limit};
            yard.submit(i + 1, std::move(spec));
            changed = true;
        }
        if (!changed) continue;
        yard.follow();
        for (const model::PlannedStart& start : yard.pass().starts) {
            EXPECT_TRUE(yard.apply(start));
            starts[start.workload.value() - 1] = time;
        }
        yard.follow();
    }
    return starts;
}

TEST(Backfill, StartsWhatAnIndependentReferenceStarts) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        Dice dice(seed);
        const std::int64_t machine = 6 + dice.roll(30);
        const std::vector<TraceJob> jobs = random_trace(dice, machine);
        for (const bool easy : {false, true}) {
            EXPECT_EQ(engine_starts(jobs, machine, easy), Reference(jobs, machine, easy).run())
                << "seed " << seed << (easy ? " easy" : " fcfs");
        }
    }
}

/// A random cluster lived through to the end; every promise that a pass made must be kept.
void live(std::uint64_t seed, std::uint32_t reservations) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Yard yard(
        "node n[1-3] cpus=8 gpus=x:4 mem=64G\nnode m[1-2] cpus=4 gpus=x:2 mem=32G\n"
        "partition all nodes=all\npartition some nodes=n[1-3] tier=1\n"
        "policy fifo reservations=" +
        std::to_string(reservations) + "\n");
    const char* const requests[] = {"nodes=1 gpus=x:1",
                                    "nodes=3 gpus=x:2",
                                    "n=9 c=2",
                                    "nodes=1 gpus=x:4",
                                    "nodes=2 share=node",
                                    "nodes=5",
                                    "nodes=1 take=memory",
                                    "nodes=2 gpus=x:3 mem=8G"};
    for (std::uint64_t id = 1; id <= 25; ++id) {
        const model::testing::Words words(requests[dice.roll(8)]);
        model::WorkloadSpec spec;
        spec.partitions = {dice.once_in(3) ? "some" : "all"};
        spec.groups.push_back(model::testing::group(words));
        spec.time_limit = Seconds{10 + dice.roll(100)};
        if (spec.partitions[0] == "some" && spec.groups[0].nodes.min > 3) spec.partitions = {"all"};
        yard.submit(id, std::move(spec));
    }
    yard.follow();
    std::map<model::WorkloadId, ClusterTime> ends, promised;
    for (int step = 0; step < 200 && yard.index.pending().size() > 0; ++step) {
        const model::Plan planned = yard.pass();
        std::map<model::WorkloadId, bool> starts_now;
        for (const model::PlannedStart& start : planned.starts) {
            ASSERT_TRUE(yard.apply(start)) << "given twice: " << start.workload.value();
            const Millis limit = *model::find(yard.snapshot, start.workload)->spec->time_limit;
            const Millis runs =
                dice.once_in(2) ? limit
                                : Millis{1 + dice.roll(static_cast<std::uint32_t>(limit.count()))};
            ends[start.workload] = yard.now + runs;
            if (promised.contains(start.workload)) {
                EXPECT_LE(yard.now, promised[start.workload]) << start.workload.value();
            }
            starts_now[start.workload] = true;
        }
        // Only the first reservation is never put off: those after it may move when it moves up.
        if (!planned.reserved.empty() && reservations == 1) {
            for (const model::ReservedStart& each : planned.reserved) {
                const auto known = promised.find(each.workload);
                if (known != promised.end()) {
                    EXPECT_LE(each.start, known->second) << each.workload.value();
                }
                promised[each.workload] = each.start;
            }
        }
        for (const auto& [id, start] : promised)
            EXPECT_TRUE(start > yard.now || starts_now[id] ||
                        !yard.index.pending().find(id.value()))
                << "late: " << id.value();
        yard.follow();
        ASSERT_FALSE(ends.empty()) << "nothing runs and nothing starts";
        const auto next =
            std::ranges::min_element(ends, {}, [](auto& each) { return each.second; });
        yard.now = next->second;
        for (auto each = ends.begin(); each != ends.end();) {
            const bool ended = each->second == yard.now;
            if (ended) yard.finish(each->first);
            each = ended ? ends.erase(each) : std::next(each);
        }
        yard.follow();
    }
    EXPECT_EQ(yard.index.pending().size(), 0U);
}

TEST(Backfill, NoReservedStartIsDelayedAndNothingIsGivenTwice) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        live(seed, 1);
}

TEST(Backfill, SeveralReservationsComeToAnEndToo) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        live(seed, 4);
}

}  // namespace
}  // namespace twinyard::sched
