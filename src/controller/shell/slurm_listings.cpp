// The Slurm door's listings: filtered here, streamed row by row from one snapshot.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "controller/shell/row_stream.h"
#include "controller/shell/slurm_door.h"
#include "os/users.h"
#include "sched/forecast.h"
#include "sched/index.h"
#include "sched/order.h"
#include "slurm/rows.h"
#include "wire/messages.h"

namespace twinyard::controller {
namespace {

/// Expected starts, worked out when somebody asks; kept for a moment, as `watch squeue --start`
/// asks again and again.
class Forecasts {
  public:
    std::shared_ptr<const model::Forecast> of(const model::Snapshot& snapshot, ClusterTime now) {
        const std::lock_guard lock(mutex_);
        const bool fresh =
            last_ != nullptr && last_->based_on == snapshot.revision && now - last_->at < kKeep;
        if (!fresh) {
            auto made = sched::forecast(sched::Index::build(snapshot),
                                        now,
                                        RunningClock::wall(),
                                        snapshot.config->priority);
            made.based_on = snapshot.revision;
            made.at = now;
            last_ = std::make_shared<const model::Forecast>(std::move(made));
        }
        return last_;
    }

  private:
    static constexpr Seconds kKeep{5};
    std::mutex mutex_;
    std::shared_ptr<const model::Forecast> last_;
};

Forecasts& forecasts() {
    static Forecasts instance;
    return instance;
}

/// One listing of jobs under way.
struct JobListing {
    api::JobQuery query;
    Published::View view;
    std::shared_ptr<const model::Forecast> forecast;
    ClusterTime now{};
    sched::ClusterSize size;
    std::vector<model::WorkloadId> ids;  ///< By number, where the query names jobs.
    std::size_t next_id = 0;
    std::uint64_t from = 0;  ///< Else the walk goes on here.

    void add(const model::Workload& workload, std::string& part) const {
        slurm::JobFacts facts{.now = now, .with_detail = query.with_detail};
        if (view.plan) {
            const auto verdict = view.plan->verdicts.find(workload.id);
            if (verdict != view.plan->verdicts.end()) facts.verdict = verdict->second.get();
        }
        if (forecast) {
            const auto start = forecast->starts.find(workload.id);
            if (start != forecast->starts.end()) facts.expected_start = start->second;
            const auto nodes = forecast->nodes.find(workload.id);
            if (nodes != forecast->nodes.end()) facts.expected_nodes = nodes->second;
        }
        const std::int64_t score = sched::priority_of(workload, *view.snapshot->config, size, now);
        facts.priority = static_cast<std::uint32_t>(std::clamp<std::int64_t>(score, 0, 0xffffffff));
        if (query.with_detail) facts.user_name = os::user_name(workload.spec->uid);
        wire::append_row(slurm::make_job_row(*view.snapshot, workload, facts), part);
    }

    bool next_by_id(std::string& part) {
        for (; next_id < ids.size() && part.size() < kPartBytes; ++next_id) {
            const model::Workload* workload = model::find(*view.snapshot, ids[next_id]);
            if (workload != nullptr && slurm::matches(query, *view.snapshot, *workload))
                add(*workload, part);
        }
        return next_id < ids.size();
    }

    bool next_by_walk(std::string& part) {
        bool ended = true;
        view.snapshot->workloads.for_each_from(
            from, [&](std::uint64_t id, const model::WorkloadPtr& workload) {
                if (part.size() >= kPartBytes) {
                    from = id;
                    ended = false;
                    return false;
                }
                if (slurm::matches(query, *view.snapshot, *workload)) add(*workload, part);
                return true;
            });
        return !ended;
    }
};

sched::ClusterSize size_of(const model::Snapshot& snapshot) {
    sched::ClusterSize size;
    snapshot.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        ++size.nodes;
        size.cpus += node->capacity.cpus;
    });
    return size;
}

template <class T>
std::optional<T> decoded(rpc::Call& call) {
    Result<T> query = wire::decode<T>(call.payload());
    if (query) return std::move(*query);
    call.fail(std::move(query).error());
    return std::nullopt;
}

}  // namespace

void list_jobs(Context& context, rpc::Call call) {
    auto query = decoded<api::JobQuery>(call);
    if (!query) return;
    auto listing = std::make_unique<JobListing>();
    listing->query = std::move(*query);
    listing->view = context.published.view();
    listing->now = context.clock.now();
    const model::Snapshot& snapshot = *listing->view.snapshot;
    if (listing->query.with_forecast) listing->forecast = forecasts().of(snapshot, listing->now);
    // The score's size factor is the only part that needs all nodes.
    if (snapshot.config->priority.weight_job_size != 0) listing->size = size_of(snapshot);
    for (const std::uint32_t job : listing->query.jobs) {
        if (const model::WorkloadId* id = snapshot.jobs.find(job)) listing->ids.push_back(*id);
    }
    const bool by_id = !listing->query.jobs.empty();
    stream_rows(std::move(call),
                context.workers,
                [listing = std::move(listing), by_id](std::string& part) -> Result<bool> {
                    return by_id ? listing->next_by_id(part) : listing->next_by_walk(part);
                });
}

namespace {

struct NodeListing {
    Published::View view;
    slurm::PartitionNames partitions;
    std::set<model::NodeId> planned;
    std::set<std::string> names;  ///< Empty: all.
    std::uint64_t from = 0;

    bool next(std::string& part) {
        bool ended = true;
        view.snapshot->nodes.for_each_from(from, [&](std::uint64_t id, const model::NodePtr& node) {
            if (part.size() >= kPartBytes) {
                from = id;
                ended = false;
                return false;
            }
            if (names.empty() || names.contains(node->name)) {
                const bool is_planned = planned.contains(node->id);
                wire::append_row(
                    slurm::make_node_row(*view.snapshot, partitions, *node, is_planned), part);
            }
            return true;
        });
        return !ended;
    }
};

}  // namespace

void list_nodes(Context& context, rpc::Call call) {
    auto query = decoded<api::NodeQuery>(call);
    if (!query) return;
    auto listing = std::make_unique<NodeListing>();
    listing->view = context.published.view();
    listing->partitions = slurm::partition_names(*listing->view.snapshot);
    listing->names.insert(query->nodes.begin(), query->nodes.end());
    if (listing->view.plan) {
        for (const model::ReservedStart& reserved : listing->view.plan->reserved) {
            listing->planned.insert(reserved.nodes.begin(), reserved.nodes.end());
        }
    }
    stream_rows(std::move(call),
                context.workers,
                [listing = std::move(listing)](std::string& part) -> Result<bool> {
                    return listing->next(part);
                });
}

void list_partitions(Context& context, rpc::Call call) {
    auto query = decoded<api::PartitionQuery>(call);
    if (!query) return;
    const auto snapshot = context.published.snapshot();
    stream_rows(
        std::move(call),
        context.workers,
        [snapshot, query = std::move(*query), at = std::size_t{0}](
            std::string& part) mutable -> Result<bool> {
            const auto& partitions = snapshot->config->partitions;
            for (; at < partitions.size() && part.size() < kPartBytes; ++at) {
                const bool wanted = query.partitions.empty() ||
                                    std::ranges::find(query.partitions, partitions[at].name) !=
                                        query.partitions.end();
                if (wanted)
                    wire::append_row(slurm::make_partition_row(*snapshot, partitions[at]), part);
            }
            return at < partitions.size();
        });
}

void list_history(Context& context, rpc::Call call) {
    auto query = decoded<api::AccountingQuery>(call);
    if (!query) return;
    // As in Slurm without PrivateData: everybody may see all rows; sacct asks for its own user's by
    // default.
    std::string part;
    bool cut = false;
    const Status read = context.history.query(*query, [&](const api::AccountingRecord& row) {
        wire::append_row(row, part);
        if (part.size() < kPartBytes) return true;
        cut = call.send_part(std::exchange(part, {})) == rpc::Flow::Closed;
        return !cut;
    });
    if (cut) return;
    if (!read) return call.fail(read.error());
    call.reply(std::move(part));
}

}  // namespace twinyard::controller
