#include "sched/order.h"

#include <algorithm>
#include <map>

namespace twinyard::sched {
namespace {

/// What the first job of a FIFO queue shows; each later one less.
constexpr std::int64_t kFifoTop = 4'294'901'759;
/// Factors from 0 to 1 are counted in billionths: weights below 2^32 then stay within 64 bits.
constexpr std::int64_t kOne = 1'000'000'000;
constexpr std::int64_t kAmountMax = 9'000'000'000;

/// a / b in billionths, between 0 and 1.
std::int64_t fraction(std::int64_t a, std::int64_t b) {
    if (b <= 0 || a <= 0) return 0;
    if (a >= b) return kOne;
    while (a > kAmountMax) {
        a /= 2;
        b /= 2;
    }
    return a * kOne / b;
}

std::int64_t weigh(std::uint32_t weight, std::int64_t factor) {
    return std::int64_t{weight} * factor / kOne;
}

/// The least it asks for.
ClusterSize least_size(const model::WorkloadSpec& spec) {
    ClusterSize size;
    for (const model::TaskGroup& group : spec.groups) {
        size.nodes += group.nodes.min;
        const std::int64_t milli = group.per_member.cpu_milli * group.members.min +
                                   group.per_node.cpu_milli * group.nodes.min +
                                   group.total.cpu_milli;
        size.cpus += (milli + 999) / 1000;
    }
    return size;
}

/// Slurm: the mean of the shares of nodes and of cpus; for small jobs first, of what is left.
std::int64_t size_factor(const model::WorkloadSpec& spec, ClusterSize cluster, bool favor_small) {
    const ClusterSize size = least_size(spec);
    const std::int64_t nodes = fraction(size.nodes, cluster.nodes);
    const std::int64_t cpus = fraction(size.cpus, cluster.cpus);
    const std::int64_t big = size.cpus > 0 ? (nodes + cpus) / 2 : nodes;
    return favor_small ? kOne - big : big;
}

std::int64_t partition_factor(const model::Partition& partition,
                              const model::ClusterConfig& config) {
    std::uint32_t most = 0;
    for (const model::Partition& each : config.partitions)
        most = std::max(most, each.job_factor);
    return fraction(partition.job_factor, most);
}

std::int64_t qos_factor(const std::string& name, const model::ClusterConfig& config) {
    std::uint32_t most = 0;
    for (const model::Qos& each : config.qos)
        most = std::max(most, each.priority);
    const model::Qos* qos = model::find_qos(config, name);
    return qos == nullptr ? 0 : fraction(qos->priority, most);
}

ClusterTime age_begin(const model::Workload& workload) {
    const model::WorkloadStatus& status = workload.status;
    return status.eligible > status.submitted ? status.eligible : status.submitted;
}

/// Of one shape in one partition under one QOS: what does not change from job to job.
struct FixedPart {
    std::int64_t job_size = 0, partition = 0, qos = 0;
};

FixedPart fixed_part(const model::WorkloadSpec& spec,
                     const model::Partition& partition,
                     const model::ClusterConfig& config,
                     const model::PriorityPolicy& policy,
                     ClusterSize cluster) {
    FixedPart part;
    if (policy.weight_job_size > 0)
        part.job_size =
            weigh(policy.weight_job_size, size_factor(spec, cluster, policy.favor_small));
    if (policy.weight_partition > 0)
        part.partition = weigh(policy.weight_partition, partition_factor(partition, config));
    if (policy.weight_qos > 0) part.qos = weigh(policy.weight_qos, qos_factor(spec.qos, config));
    return part;
}

Score add_up(const model::Workload& workload,
             const FixedPart& part,
             const model::PriorityPolicy& policy,
             ClusterTime now) {
    Score score;
    if (workload.spec->priority) {
        score.total = *workload.spec->priority;
        return score;
    }
    score.nice = workload.spec->nice;
    if (policy.fifo) {
        const auto id = static_cast<std::int64_t>(workload.id.value());
        score.total = std::max<std::int64_t>(kFifoTop - id - score.nice, 1);
        return score;
    }
    const Millis age = now - age_begin(workload);
    score.age = weigh(policy.weight_age, fraction(age.count(), policy.age_max.count()));
    score.job_size = part.job_size;
    score.partition = part.partition;
    score.qos = part.qos;
    score.total = std::max<std::int64_t>(
        score.age + score.job_size + score.partition + score.qos - score.nice, 1);
    return score;
}

/// Fixed parts of all that is pending, each found once.
class FixedParts {
  public:
    FixedParts(const Index& index, const model::PriorityPolicy& policy)
        : index_(index), policy_(policy), cluster_(size_of(index)) {}

    const FixedPart& of(const PendingEntry& entry, std::uint32_t partition) {
        const model::WorkloadSpec& spec = *entry.workload->spec;
        const auto key = std::make_pair(entry.shape.get(), partition);
        auto [found, is_new] = parts_.try_emplace(key);
        if (is_new) {
            found->second = fixed_part(
                spec, index_.config().partitions[partition], index_.config(), policy_, cluster_);
        }
        if (policy_.weight_qos == 0) return found->second;
        // QOS is no part of the shape.
        with_qos_ = found->second;
        with_qos_.qos = weigh(policy_.weight_qos, qos_factor(spec.qos, index_.config()));
        return with_qos_;
    }

  private:
    const Index& index_;
    const model::PriorityPolicy& policy_;
    ClusterSize cluster_;
    // Looked up only; never walked, so that the order of pointers shows nowhere.
    std::map<std::pair<const Shape*, std::uint32_t>, FixedPart> parts_;
    FixedPart with_qos_;
};

}  // namespace

ClusterSize size_of(const Index& index) {
    ClusterSize size;
    for (const NodeRow& row : index.nodes()) {
        ++size.nodes;
        size.cpus += row.node->capacity.cpus;
    }
    return size;
}

Score score_of(const model::Workload& workload,
               const model::Partition& partition,
               const model::ClusterConfig& config,
               const model::PriorityPolicy& policy,
               ClusterSize cluster,
               ClusterTime now) {
    const FixedPart part = fixed_part(*workload.spec, partition, config, policy, cluster);
    return add_up(workload, part, policy, now);
}

std::int64_t priority_of(const model::Workload& workload,
                         const model::ClusterConfig& config,
                         ClusterSize cluster,
                         ClusterTime now) {
    const bool held = workload.status.hold != model::Hold::None || workload.spec->priority == 0U;
    if (held && workload.status.state == model::WorkloadState::Pending) return 0;
    const model::Partition* partition =
        workload.spec->partitions.empty()
            ? nullptr
            : model::find_partition(config, workload.spec->partitions.front());
    static const model::Partition kNone;
    return score_of(workload,
                    partition == nullptr ? kNone : *partition,
                    config,
                    config.priority,
                    cluster,
                    now)
        .total;
}

std::int64_t priority_of(const model::Workload& workload,
                         const model::ClusterConfig& config,
                         ClusterTime now) {
    ClusterSize cluster;
    for (const model::NodeDeclaration& node : config.nodes) {
        ++cluster.nodes;
        cluster.cpus += node.cpus.value_or(1);
    }
    return priority_of(workload, config, cluster, now);
}

bool stands_before(const Alternative& a, const Alternative& b) {
    if (a.band != b.band) return a.band > b.band;
    if (a.score != b.score) return a.score > b.score;
    if (a.workload != b.workload) return a.workload < b.workload;
    return a.rank < b.rank;
}

std::vector<Alternative> order_of(const Index& index,
                                  const model::PriorityPolicy& policy,
                                  ClusterTime now) {
    std::map<std::string_view, std::uint32_t> by_name;
    const auto& partitions = index.config().partitions;
    for (std::uint32_t at = 0; at < partitions.size(); ++at)
        by_name.emplace(partitions[at].name, at);
    FixedParts parts(index, policy);
    std::vector<Alternative> order;
    order.reserve(index.pending().size());
    index.pending().for_each([&](std::uint64_t id, const PendingEntry& entry) {
        std::uint32_t rank = 0;
        for (const std::string& name : entry.workload->spec->partitions) {
            const auto found = by_name.find(name);
            if (found == by_name.end()) continue;
            Alternative added;
            added.band = partitions[found->second].tier;
            added.score =
                add_up(*entry.workload, parts.of(entry, found->second), policy, now).total;
            added.workload = model::WorkloadId{id};
            added.rank = rank++;
            added.partition = found->second;
            added.entry = &entry;
            order.push_back(added);
        }
        if (rank == 0) {
            Alternative nowhere;
            nowhere.workload = model::WorkloadId{id};
            nowhere.partition = kNoPartition;
            nowhere.entry = &entry;
            order.push_back(nowhere);
        }
    });
    std::ranges::sort(order, stands_before);
    return order;
}

}  // namespace twinyard::sched
