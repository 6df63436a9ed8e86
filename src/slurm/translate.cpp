// JobRequest → WorkloadSpec. In order: who, texts and their lengths, partitions, QOS, account, the
// group (task_group.cpp), could it ever fit (check_possible.cpp), time, then what the processes are
// started with. The first thing wrong is the answer.
#include "slurm/translate.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/batch_script.h"
#include "slurm/environment.h"
#include "slurm/errors.h"

namespace twinyard::slurm {

namespace {

using api::JobRequest;
using model::WorkloadSpec;

constexpr std::size_t kNameMax = 1024;
constexpr std::size_t kPathMax = 4096;
constexpr std::size_t kListMax = 16 * 1024;
constexpr std::size_t kNodeNamesMax = 32 * 1024;
constexpr std::size_t kSubmitLineKept = 4096;
constexpr std::uint32_t kPartitionsMax = 64;

Status check_length(const std::optional<std::string>& text, std::size_t max) {
    if (text && text->size() > max) return refuse(Refusal::PathTooLong);
    return {};
}

/// A spec is one record of bounded size, so each of its texts has a limit of its own.
Status check_lengths(const JobRequest& request) {
    for (const auto* text : {&request.account, &request.qos, &request.comment}) {
        TRY_STATUS(check_length(*text, kNameMax));
    }
    for (const auto* text : {&request.partition,
                             &request.constraint,
                             &request.prefer,
                             &request.gres,
                             &request.gpus,
                             &request.gpus_per_node,
                             &request.gpus_per_task,
                             &request.nodelist,
                             &request.exclude}) {
        TRY_STATUS(check_length(*text, kListMax));
    }
    TRY_STATUS(check_length(request.name, kNameMax));
    for (const auto* text : {&request.command,
                             &request.work_dir,
                             &request.std_in,
                             &request.std_out,
                             &request.std_err}) {
        TRY_STATUS(check_length(*text, kPathMax));
    }
    std::size_t arguments = 0;
    for (const std::string& argument : request.script_args)
        arguments += argument.size() + 1;
    if (arguments > kListMax) return refuse(Refusal::PathTooLong);
    return {};
}

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

Status check_texts(const JobRequest& request) {
    TRY_STATUS(check_lengths(request));
    if (has_control_character(request.name)) {
        return fail(ErrorCode::InvalidArgument, "Control characters are not allowed in a job name");
    }
    if (request.account && has_control_character(*request.account)) {
        return refuse(Refusal::InvalidAccount);
    }
    for (const auto* path :
         {&request.work_dir, &request.std_in, &request.std_out, &request.std_err}) {
        if (has_control_character(*path)) {
            return fail(ErrorCode::InvalidArgument,
                        "Control characters are not allowed in a path: " + printable(*path, 60));
        }
    }
    return request.script.empty() ? Status{} : check_batch_script(request.script);
}

Status check_partition(const model::Partition& partition,
                       const JobRequest& request,
                       const api::Principal& principal) {
    if (partition.root_only && !principal.is_admin) return refuse(Refusal::AccessDenied);
    const bool closed = partition.state == model::PartitionState::Drain ||
                        partition.state == model::PartitionState::Inactive;
    if (closed) return refuse(Refusal::PartitionNotAvailable);
    const std::string account = request.account.value_or("default");
    const auto names_it = [&](const std::vector<std::string>& list) {
        return std::ranges::find(list, account) != list.end();
    };
    const bool denied = names_it(partition.deny_accounts) ||
                        (!partition.allow_accounts.empty() && !names_it(partition.allow_accounts));
    if (denied) return refuse(Refusal::InvalidAccount);
    return {};
}

/// The partitions of -p in its order, else the default one.
Result<std::vector<const model::Partition*>> partitions_of(const JobRequest& request,
                                                           const model::ClusterConfig& config,
                                                           const api::Principal& principal) {
    std::vector<const model::Partition*> found;
    if (!request.partition || request.partition->empty()) {
        const auto first =
            std::ranges::find(config.partitions, true, &model::Partition::is_default);
        if (first == config.partitions.end()) return refuse(Refusal::NoDefaultPartition);
        found.push_back(&*first);
    } else {
        for (const std::string_view name : split(*request.partition, ',')) {
            const model::Partition* partition = find_partition(config, name);
            if (partition == nullptr || found.size() == kPartitionsMax) {
                return refuse(Refusal::InvalidPartition);
            }
            if (std::ranges::find(found, partition) == found.end()) found.push_back(partition);
        }
    }
    for (const model::Partition* partition : found) {
        TRY_STATUS(check_partition(*partition, request, principal));
    }
    return found;
}

Result<std::string> qos_of(const JobRequest& request,
                           const model::ClusterConfig& config,
                           const std::vector<const model::Partition*>& partitions) {
    std::string qos = request.qos.value_or("");
    if (qos.empty()) qos = partitions.front()->qos;
    if (qos.empty()) qos = "normal";
    const bool known =
        qos == "normal" || find_qos(config, qos) != nullptr ||
        std::ranges::any_of(config.partitions, [&](const auto& other) { return other.qos == qos; });
    if (!known) return refuse(Refusal::InvalidQos);
    for (const model::Partition* partition : partitions) {
        const auto names_it = [&](const std::vector<std::string>& list) {
            return std::ranges::find(list, qos) != list.end();
        };
        if (names_it(partition->deny_qos) ||
            (!partition->allow_qos.empty() && !names_it(partition->allow_qos))) {
            return refuse(Refusal::InvalidQos);
        }
    }
    return qos;
}

/// Names of all nodes there are or are declared, sorted.
std::vector<std::string_view> known_nodes(const model::ClusterConfig& config,
                                          const model::Snapshot& snapshot) {
    std::vector<std::string_view> names;
    for (const model::NodeDeclaration& node : config.nodes)
        names.push_back(node.name);
    snapshot.nodes.for_each(
        [&](std::uint64_t, const model::NodePtr& node) { names.push_back(node->name); });
    std::ranges::sort(names);
    return names;
}

bool is_known_feature(std::string_view name,
                      const model::ClusterConfig& config,
                      const model::Snapshot& snapshot) {
    for (const model::NodeDeclaration& node : config.nodes) {
        if (std::ranges::find(node.features, name) != node.features.end()) return true;
    }
    bool found = false;
    snapshot.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        found = std::ranges::any_of(node->labels, [&](const auto& l) { return l.first == name; });
        return !found;
    });
    return found;
}

Status check_names(const model::Where& where,
                   const model::ClusterConfig& config,
                   const model::Snapshot& snapshot) {
    std::size_t bytes = 0;
    std::vector<std::string_view> known;
    for (const auto* names : {&where.include, &where.exclude}) {
        if (known.empty() && !names->empty()) known = known_nodes(config, snapshot);
        for (const std::string& name : *names) {
            bytes += name.size() + 1;
            if (!std::ranges::binary_search(known, std::string_view(name))) {
                return refuse(Refusal::InvalidNodeName);
            }
        }
    }
    if (bytes > kNodeNamesMax) return refuse(Refusal::PathTooLong);
    for (const model::NodeTerm& term : where.any_of) {
        for (const model::LabelTest& test : term.all) {
            if (!is_known_feature(test.key, config, snapshot)) {
                return refuse(Refusal::InvalidFeature);
            }
        }
    }
    return {};
}

/// One of the partitions is enough; else the first one's reason.
Status check_any_possible(const model::TaskGroup& group,
                          const std::vector<const model::Partition*>& partitions,
                          const model::Snapshot& snapshot) {
    Status first = check_possible(group, *partitions.front(), snapshot);
    if (first) return first;
    const bool possible = std::ranges::any_of(partitions, [&](const model::Partition* partition) {
        return check_possible(group, *partition, snapshot).has_value();
    });
    return possible ? Status{} : first;
}

Status set_times(WorkloadSpec& spec,
                 const JobRequest& request,
                 const model::ClusterConfig& config,
                 const std::vector<const model::Partition*>& partitions) {
    if (request.deadline_unix_s) {
        return refuse(Refusal::NotSupported, "--deadline is not built yet");
    }
    const auto limit_from = [](std::int64_t seconds) -> Millis {
        const bool endless = seconds <= 0 || seconds >= kTimeLimitMax.count();
        return endless ? kNoTimeLimit : Millis{round_up_to_minutes(Seconds{seconds})};
    };
    if (request.time_limit_s) {
        spec.time_limit = limit_from(*request.time_limit_s);
        const bool none_anyway = std::ranges::none_of(
            partitions, [](const auto* p) { return default_limit(*p).has_value(); });
        if (*spec.time_limit == kNoTimeLimit && none_anyway) spec.time_limit.reset();
    }
    if (request.time_min_s) {
        spec.time_min = limit_from(*request.time_min_s);
        if (spec.time_limit && *spec.time_min > *spec.time_limit) {
            return refuse(Refusal::InvalidTimeMin);
        }
    }
    if (config.limits.enforce_partition_limits && spec.time_limit) {
        for (const model::Partition* partition : partitions) {
            if (partition->time_max && *spec.time_limit > *partition->time_max) {
                return refuse(Refusal::InvalidTimeLimit);
            }
        }
    }
    if (request.begin_unix_s) {
        constexpr std::int64_t kYear9999 = 253'402'300'799;
        if (*request.begin_unix_s < 0 || *request.begin_unix_s > kYear9999)
            return fail(ErrorCode::InvalidArgument, "Invalid time specification");
        spec.begin = WallTime{Seconds{*request.begin_unix_s}};
    }
    return {};
}

std::string name_of(const JobRequest& request) {
    if (!request.name.empty()) return request.name;
    const std::string_view path = request.command;
    const std::string_view base = path.substr(path.rfind('/') + 1);
    return base.empty() ? "sbatch" : std::string(base);
}

/// What the request itself says and the job may read again. What was not asked is not set: scripts
/// and srun tell the two apart.
std::vector<std::pair<std::string, std::string>> asked_variables(const JobRequest& request,
                                                                 const model::TaskGroup& group) {
    std::vector<std::pair<std::string, std::string>> set;
    const auto number = [&](const char* name, const auto& value) {
        if (value) set.emplace_back(name, std::to_string(*value));
    };
    const auto text = [&](const char* name, const std::optional<std::string>& value) {
        if (value) set.emplace_back(name, *value);
    };
    if (request.ntasks || request.ntasks_per_node || request.gpus_per_task) {
        const std::string tasks = std::to_string(group.members.min);
        set.emplace_back("SLURM_NTASKS", tasks);
        set.emplace_back("SLURM_NPROCS", tasks);
    }
    number("SLURM_CPUS_PER_TASK", request.cpus_per_task);
    number("SLURM_NTASKS_PER_NODE", request.ntasks_per_node);
    number("SLURM_NTASKS_PER_GPU", request.ntasks_per_gpu);
    text("SLURM_GPUS", request.gpus);
    text("SLURM_GPUS_PER_NODE", request.gpus_per_node);
    text("SLURM_GPUS_PER_TASK", request.gpus_per_task);
    number("SLURM_CPUS_PER_GPU", request.cpus_per_gpu);
    number("SLURM_MEM_PER_NODE", request.mem_per_node_mb);
    number("SLURM_MEM_PER_CPU", request.mem_per_cpu_mb);
    number("SLURM_MEM_PER_GPU", request.mem_per_gpu_mb);
    text("SLURM_EXPORT_ENV", request.export_env);
    return set;
}

model::LaunchSpec launch_of(const JobRequest& request,
                            const model::ClusterConfig& config,
                            const model::TaskGroup& group,
                            std::vector<api::Blob>& blobs) {
    const auto keep = [&](std::string bytes) {
        const ContentHash hash = content_hash(bytes);
        blobs.push_back({hash, std::move(bytes)});
        return hash;
    };
    model::LaunchSpec launch;
    if (!request.script.empty()) launch.script = keep(request.script);
    launch.environment = keep(join_environment(request.environment));
    launch.arguments = request.script_args;
    launch.command = request.command;
    launch.work_dir = request.work_dir;
    launch.std_in = request.std_in;
    launch.std_out = request.std_out;
    launch.std_err = request.std_err;
    launch.append_output = request.append_output.value_or(config.limits.append_output_default);
    launch.umask = request.umask;
    launch.limits = request.limits;
    launch.submit_host = request.submit_host.substr(0, kNameMax);
    launch.submit_line = request.submit_line.substr(0, kSubmitLineKept);
    launch.end_warning = request.signal;
    launch.extra_environment = asked_variables(request, group);
    return launch;
}

/// How long the job lasts on an emulated node, from its own environment.
Status set_emulated(WorkloadSpec& spec, const JobRequest& request) {
    for (const std::string& variable : request.environment) {
        const auto pair = split_once(variable, '=');
        if (!pair) continue;
        if (pair->first == "TWINYARD_EMULATED_RUNTIME") {
            const Result<std::int64_t> seconds =
                parse_number<std::int64_t>(pair->second, 0, 100'000'000);
            if (!seconds) return fail(Error(seconds.error()).in(pair->first));
            spec.emulated_runtime = Seconds{*seconds};
        } else if (pair->first == "TWINYARD_EMULATED_EXIT") {
            const Result<std::int32_t> code = parse_number<std::int32_t>(pair->second, 0, 255);
            if (!code) return fail(Error(code.error()).in(pair->first));
            spec.emulated_exit = *code;
        }
    }
    return {};
}

Status set_priority(Translated& out, const JobRequest& request, const api::Principal& principal) {
    WorkloadSpec& spec = out.spec;
    spec.nice = request.nice.value_or(0);
    if (spec.nice < 0 && !principal.is_admin) {
        spec.nice = 0;
        out.warnings.emplace_back("Only an administrator may set a negative nice value; using 0");
    }
    if (request.hold || request.priority == 0U) out.hold = model::Hold::User;
    if (request.priority.value_or(0) > 0) {
        if (!principal.is_admin) return refuse(Refusal::AccessDenied);
        spec.priority = request.priority;
    }
    return {};
}

}  // namespace

Result<Translated> translate(const JobRequest& request,
                             const model::ClusterConfig& config,
                             const model::Snapshot& snapshot,
                             const api::Principal& principal) {
    if (request.uid != principal.uid && !principal.is_admin) return refuse(Refusal::InvalidUserId);
    // Only the group that the caller's process has: who is in others is not this pure function's to
    // know.
    if (request.gid != principal.gid && !principal.is_admin)
        return fail(ErrorCode::Denied, "Invalid group id");
    TRY_STATUS(check_texts(request));
    TRY(const auto partitions, partitions_of(request, config, principal));

    Translated out;
    WorkloadSpec& spec = out.spec;
    TRY(spec.qos, qos_of(request, config, partitions));
    TRY(model::TaskGroup group, task_group_of(request, config, partitions.front()));
    TRY_STATUS(check_names(group.where, config, snapshot));
    TRY_STATUS(check_any_possible(group, partitions, snapshot));
    TRY_STATUS(set_times(spec, request, config, partitions));
    TRY_STATUS(set_priority(out, request, principal));
    TRY_STATUS(set_emulated(spec, request));

    spec.door = model::Door::Slurm;
    spec.name = name_of(request);
    spec.uid = request.uid;
    spec.gid = request.gid;
    spec.queue = request.account.value_or("default");
    if (spec.queue.empty()) spec.queue = "default";
    for (const model::Partition* partition : partitions)
        spec.partitions.push_back(partition->name);
    spec.min_members = group.members.min;
    spec.end_rule = model::EndRule::Together;
    spec.requeue_allowed = request.requeue.value_or(config.limits.requeue_default);
    spec.reboot = request.reboot;
    spec.comment = request.comment.value_or("");
    spec.launch = launch_of(request, config, group, out.blobs);
    spec.groups.push_back(std::move(group));
    return out;
}

}  // namespace twinyard::slurm
