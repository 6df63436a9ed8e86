// Request → TaskGroup. In order: how many members on how many nodes (shape), then what each of the
// three places (member, node, whole) gets of devices, cpus and memory, then where and with whom.
// Nodes are not looked at; check_possible() does that.
#include <algorithm>

#include "base/duration_text.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/errors.h"
#include "slurm/translate.h"

namespace twinyard::slurm {

namespace {

using api::JobRequest;
using model::kNoMaximum;
using model::TaskGroup;

constexpr std::uint32_t kTasksMax = 10'000'000;
constexpr std::uint32_t kNodesMax = 1'000'000;
constexpr std::uint32_t kCpusMax = 65'535;

/// Saturates far above anything that exists, so that absurd requests are refused as too large
/// instead of wrapping.
std::int64_t times(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    return b != 0 && a > kMost / b ? kMost : a * b;
}

std::int64_t count_of(const std::vector<model::DeviceRequest>& devices) {
    std::int64_t sum = 0;
    for (const model::DeviceRequest& device : devices)
        sum += device.count;
    return sum;
}

std::int64_t gpus_of(const model::Resources& resources) {
    std::int64_t sum = 0;
    for (const model::DeviceRequest& device : resources.devices) {
        if (model::is_of_class(device.class_path, "gpu")) sum += device.count;
    }
    return sum;
}

/// Devices of the three places.
Status set_devices(TaskGroup& group, const JobRequest& request) {
    if (request.gres) {
        TRY(group.per_node.devices, parse_gres(*request.gres, false));
    }
    if (request.gpus_per_node) {
        TRY(const auto gpus, parse_gres(*request.gpus_per_node, true));
        if (gpus_of(group.per_node) > 0 && !gpus.empty()) return refuse(Refusal::InvalidGres);
        group.per_node.devices.insert(group.per_node.devices.end(), gpus.begin(), gpus.end());
        std::ranges::sort(group.per_node.devices, {}, &model::DeviceRequest::class_path);
    }
    if (request.gpus_per_task) {
        TRY(group.per_member.devices, parse_gres(*request.gpus_per_task, true));
        group.binding.devices_to_members = !group.per_member.devices.empty();
    }
    if (request.gpus) {
        TRY(group.total.devices, parse_gres(*request.gpus, true));
    }
    return {};
}

/// `--gpus` beside `--gpus-per-task` or `--gpus-per-node` says how many tasks or nodes there are;
/// the total itself is then no demand of its own.
Status derive_from_total(TaskGroup& group, JobRequest& request) {
    const std::int64_t total = count_of(group.total.devices);
    if (total == 0) return {};
    const std::int64_t per_task = count_of(group.per_member.devices);
    const std::int64_t per_node = gpus_of(group.per_node);
    if (per_task > 0) {
        if (total % per_task != 0) return refuse(Refusal::InvalidGres);
        const auto tasks = static_cast<std::uint32_t>(total / per_task);
        if (request.ntasks && *request.ntasks != tasks) return refuse(Refusal::InvalidGres);
        request.ntasks = tasks;
        group.total.devices.clear();
    } else if (per_node > 0) {
        if (total % per_node != 0) return refuse(Refusal::InvalidGres);
        const auto nodes = static_cast<std::uint32_t>(total / per_node);
        const bool outside =
            request.nodes_min.value_or(1) > nodes || request.nodes_max.value_or(kNoMaximum) < nodes;
        if (outside) return refuse(Refusal::InvalidGres);
        request.nodes_min = request.nodes_max = nodes;
        group.total.devices.clear();
    } else if (request.ntasks_per_gpu && !request.ntasks) {
        const std::int64_t tasks = times(total, *request.ntasks_per_gpu);
        request.ntasks = static_cast<std::uint32_t>(std::min<std::int64_t>(tasks, kNoMaximum));
    }
    return {};
}

Status check_counts(const JobRequest& request) {
    const auto outside = [](std::optional<std::uint32_t> value, std::uint32_t max) {
        return value && (*value == 0 || *value > max);
    };
    if (outside(request.ntasks, kTasksMax) || outside(request.ntasks_per_node, kTasksMax) ||
        outside(request.ntasks_per_gpu, kTasksMax)) {
        return refuse(Refusal::InvalidTaskCount);
    }
    if (outside(request.cpus_per_task, kCpusMax) || outside(request.cpus_per_gpu, kCpusMax)) {
        return refuse(Refusal::InvalidCpuCount);
    }
    const bool open_end = request.nodes_max == kNoMaximum;
    if (outside(request.nodes_min, kNodesMax) ||
        (!open_end && outside(request.nodes_max, kNodesMax)) ||
        request.nodes_max.value_or(kNoMaximum) < request.nodes_min.value_or(1)) {
        return refuse(Refusal::InvalidNodeCount);
    }
    return {};
}

/// Named nodes are all part of the placement, so there are at least as many.
Status count_named_nodes(const TaskGroup& group, JobRequest& request) {
    const auto named = static_cast<std::uint32_t>(group.where.include.size());
    if (named == 0) return {};
    if (request.nodes_max && *request.nodes_max < named) return refuse(Refusal::InvalidNodeCount);
    const bool may_be_more = request.ntasks || request.gpus;
    if (!request.nodes_max) request.nodes_max = may_be_more ? kNoMaximum : named;
    request.nodes_min = std::max(request.nodes_min.value_or(1), named);
    return {};
}

/// Members and nodes. Without -n each node has --ntasks-per-node members, else one, so their number
/// follows the nodes; without -N the nodes follow from what the members and totals need.
Status set_shape(TaskGroup& group, const JobRequest& request) {
    group.nodes.min = request.nodes_min.value_or(1);
    group.nodes.max = request.nodes_max.value_or(kNoMaximum);
    if (request.ntasks) {
        // As in Slurm, more nodes than tasks are not used.
        const std::uint32_t tasks = *request.ntasks;
        group.members = {tasks, tasks};
        group.nodes.min = std::min(group.nodes.min, tasks);
        group.members_per_node = {1, request.ntasks_per_node.value_or(kNoMaximum)};
        return {};
    }
    const std::uint32_t on_node = request.ntasks_per_node.value_or(1);
    group.members_per_node = {on_node, on_node};
    if (!request.nodes_min && group.total.empty()) group.nodes.max = 1;
    const std::uint64_t members = std::uint64_t{group.nodes.min} * on_node;
    if (members > kTasksMax) return refuse(Refusal::InvalidTaskCount);
    group.members.min = static_cast<std::uint32_t>(members);
    const std::uint64_t most = std::uint64_t{group.nodes.max} * on_node;
    group.members.max = most > kTasksMax ? kNoMaximum : static_cast<std::uint32_t>(most);
    return {};
}

/// Cpus follow the tasks (-c, else one each), or with --cpus-per-gpu the GPUs.
Status set_cpus(TaskGroup& group, const JobRequest& request, const model::Partition* partition) {
    std::optional<std::uint32_t> per_gpu = request.cpus_per_gpu;
    if (per_gpu && request.cpus_per_task) return refuse(Refusal::InvalidTresCount);
    const std::int64_t gpus =
        gpus_of(group.per_member) + gpus_of(group.per_node) + gpus_of(group.total);
    if (per_gpu && gpus == 0) return refuse(Refusal::InvalidTresCount);
    if (!per_gpu && !request.cpus_per_task && gpus > 0 && partition != nullptr) {
        per_gpu = partition->cpus_per_gpu_default;
    }
    if (!per_gpu || gpus == 0) {
        group.per_member.cpu_milli = std::int64_t{1000} * request.cpus_per_task.value_or(1);
        return {};
    }
    const std::int64_t milli = std::int64_t{1000} * *per_gpu;
    group.per_member.cpu_milli = times(gpus_of(group.per_member), milli);
    group.per_node.cpu_milli = times(gpus_of(group.per_node), milli);
    group.total.cpu_milli = times(gpus_of(group.total), milli);
    return {};
}

struct MemoryWish {
    std::optional<std::int64_t> per_node, per_cpu, per_gpu;
};

MemoryWish memory_wish(const JobRequest& request,
                       const model::ClusterConfig& config,
                       const model::Partition* partition) {
    const auto bytes = [](std::optional<std::int64_t> mega) {
        return mega ? std::optional(*mega * kMiB) : std::nullopt;
    };
    if (request.mem_per_node_mb || request.mem_per_cpu_mb || request.mem_per_gpu_mb) {
        return {bytes(request.mem_per_node_mb),
                bytes(request.mem_per_cpu_mb),
                bytes(request.mem_per_gpu_mb)};
    }
    const auto from = [](const model::MemoryRule& rule) {
        return MemoryWish{rule.per_node, rule.per_cpu, rule.per_gpu};
    };
    const model::MemoryRule none;
    if (partition != nullptr && partition->memory_default != none) {
        return from(partition->memory_default);
    }
    return from(config.limits.memory_default);
}

/// DefMemPerGPU says nothing of a job without GPUs: that one has all memory, as without a default.
Status set_memory(TaskGroup& group,
                  const JobRequest& request,
                  const model::ClusterConfig& config,
                  const model::Partition* partition) {
    constexpr std::int64_t kMegaMax = std::int64_t{1} << 40;
    for (const auto& mega :
         {request.mem_per_node_mb, request.mem_per_cpu_mb, request.mem_per_gpu_mb}) {
        if (mega && (*mega < 0 || *mega > kMegaMax)) return refuse(Refusal::InvalidTaskMemory);
    }
    const MemoryWish wish = memory_wish(request, config, partition);
    const std::int64_t gpus =
        gpus_of(group.per_member) + gpus_of(group.per_node) + gpus_of(group.total);
    if (wish.per_node.value_or(0) > 0) {
        group.per_node.memory_bytes = *wish.per_node;
    } else if (wish.per_cpu.value_or(0) > 0) {
        group.per_member.memory_bytes = times(group.per_member.cpu_milli / 1000, *wish.per_cpu);
        group.per_node.memory_bytes = times(group.per_node.cpu_milli / 1000, *wish.per_cpu);
        group.total.memory_bytes = times(group.total.cpu_milli / 1000, *wish.per_cpu);
    } else if (wish.per_gpu.value_or(0) > 0 && gpus > 0) {
        group.per_member.memory_bytes = times(gpus_of(group.per_member), *wish.per_gpu);
        group.per_node.memory_bytes = times(gpus_of(group.per_node), *wish.per_gpu);
        group.total.memory_bytes = times(gpus_of(group.total), *wish.per_gpu);
    } else if (request.mem_per_gpu_mb.value_or(0) > 0) {
        return refuse(Refusal::InvalidTresCount);
    } else if (config.limits.memory_is_consumable) {
        group.take_all.memory = true;
    }
    return {};
}

Status set_share(TaskGroup& group, const JobRequest& request, const model::Partition* partition) {
    const bool whole = (request.exclusive && request.exclusive->empty()) ||
                       (partition != nullptr && partition->exclusive_node);
    if (whole) {
        group.share = model::Share::WholeNode;
        group.take_all.cpus = group.take_all.devices = true;
        return {};
    }
    if (!request.exclusive) return {};
    if (equal_nocase(*request.exclusive, "user")) {
        group.share = model::Share::SameUser;
        return {};
    }
    return refuse(Refusal::NotSupported,
                  "--exclusive=" + printable(*request.exclusive, 60) + " is not built yet");
}

Status set_where(TaskGroup& group, const JobRequest& request) {
    const auto names =
        [](const std::optional<std::string>& text) -> Result<std::vector<std::string>> {
        if (!text || text->empty()) return std::vector<std::string>{};
        Result<std::vector<std::string>> all = expand_hostlist(*text);
        if (!all) return refuse(Refusal::InvalidNodeName);
        sort_hostnames(*all);
        all->erase(std::ranges::unique(*all).begin(), all->end());
        return all;
    };
    TRY(group.where.include, names(request.nodelist));
    TRY(group.where.exclude, names(request.exclude));
    if (request.constraint && !request.constraint->empty()) {
        TRY(Constraint constraint, parse_constraint(*request.constraint));
        group.where.any_of = std::move(constraint.any_of);
        group.where.same_alternative = constraint.same_alternative;
    }
    if (request.prefer && !request.prefer->empty()) {
        TRY(const Constraint prefer, parse_constraint(*request.prefer));
        for (const model::NodeTerm& term : prefer.any_of)
            group.where.preferred.push_back({1, term});
    }
    if (request.switches.value_or(0) > 0) {
        group.where.switches_max = request.switches;
        if (request.switches_wait_s) {
            group.where.switches_wait = Seconds{*request.switches_wait_s};
        }
    }
    return {};
}

/// What sbatch can say and this engine cannot do: refused, never swallowed.
Status refuse_unbuilt(const JobRequest& request) {
    const auto unbuilt = [](std::string_view option) {
        return refuse(Refusal::NotSupported, std::string(option) + " is not built yet");
    };
    if (request.gpus_per_socket) return unbuilt("--gpus-per-socket");
    if (request.ntasks_per_socket) return unbuilt("--ntasks-per-socket");
    if (request.ntasks_per_core) return unbuilt("--ntasks-per-core");
    if (request.threads_per_core) return unbuilt("--threads-per-core");
    if (request.mincpus) return unbuilt("--mincpus");
    if (request.overcommit) return unbuilt("--overcommit");
    if (request.contiguous) return unbuilt("--contiguous");
    if (request.spread_job) return unbuilt("--spread-job");
    if (request.use_min_nodes) return unbuilt("--use-min-nodes");
    return {};
}

/// --ntasks-per-gpu beside GPUs of each node.
void derive_from_tasks_per_gpu(const TaskGroup& group, JobRequest& request) {
    const std::int64_t on_node = gpus_of(group.per_node);
    if (!request.ntasks_per_gpu || request.ntasks || on_node == 0) return;
    if (request.ntasks_per_node) return;
    const std::int64_t tasks = times(on_node, *request.ntasks_per_gpu);
    request.ntasks_per_node = static_cast<std::uint32_t>(std::min<std::int64_t>(tasks, kNoMaximum));
}

}  // namespace

Result<TaskGroup> task_group_of(const JobRequest& original,
                                const model::ClusterConfig& config,
                                const model::Partition* partition) {
    JobRequest request = original;
    if (request.nodes_min && !request.nodes_max) request.nodes_max = request.nodes_min;
    TaskGroup group;
    TRY_STATUS(refuse_unbuilt(request));
    TRY_STATUS(check_counts(request));
    TRY_STATUS(set_where(group, request));
    TRY_STATUS(count_named_nodes(group, request));
    TRY_STATUS(set_devices(group, request));
    TRY_STATUS(derive_from_total(group, request));
    derive_from_tasks_per_gpu(group, request);
    TRY_STATUS(check_counts(request));
    TRY_STATUS(set_shape(group, request));
    TRY_STATUS(set_cpus(group, request, partition));
    TRY_STATUS(set_memory(group, request, config, partition));
    TRY_STATUS(set_share(group, request, partition));
    return group;
}

}  // namespace twinyard::slurm
