// SLURM_* for batch scripts and tasks. What a request did not ask for stays unset: scripts and
// srun read these again, and an unset variable means something else than a default.
#include "slurm/environment.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"

namespace twinyard::slurm {

namespace {

/// Variables of a running job, step or task: those of a job that submits another one do not travel.
/// Others that begin with SLURM_ are settings of the user and do.
constexpr auto kOfRunningJob = std::to_array<std::string_view>({
    "CUDA_VISIBLE_DEVICES",
    "ENVIRONMENT",
    "PMIX_",
    "PMI_",
    "SLURMD_",
    "SLURM_ARRAY_",
    "SLURM_CLUSTER_NAME",
    "SLURM_CPUS_",
    "SLURM_CPU_BIND",
    "SLURM_EXPORT_ENV",
    "SLURM_GPUS",
    "SLURM_GTIDS",
    "SLURM_HET_",
    "SLURM_JOBID",
    "SLURM_JOB_",
    "SLURM_LAUNCH_NODE_",
    "SLURM_LOCALID",
    "SLURM_MEM_PER_",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NODELIST",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_OOM_",
    "SLURM_PRIO_PROCESS",
    "SLURM_PROCID",
    "SLURM_RESTART_COUNT",
    "SLURM_SRUN_",
    "SLURM_STEP",
    "SLURM_SUBMIT_HOST",
    "SLURM_TASKS_PER_NODE",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_",
    "SRUN_DEBUG",
});

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

bool belongs_to_running_job(std::string_view variable) {
    return std::ranges::any_of(kOfRunningJob,
                               [&](std::string_view mark) { return variable.starts_with(mark); });
}

/// Names to values, first come first printed.
class Builder {
  public:
    void set(std::string_view name, std::string_view value) {
        std::string text(name);
        text += '=';
        text += value;
        const auto found = place_.find(name);
        if (found != place_.end()) {
            variables_[found->second] = std::move(text);
            return;
        }
        place_.emplace(name, variables_.size());
        variables_.push_back(std::move(text));
    }
    void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
    void set_default(std::string_view name, std::string_view value) {
        if (!value.empty() && get(name).empty()) set(name, value);
    }
    void add(std::string_view variable) {
        const std::size_t equals = variable.find('=');
        if (equals == 0 || equals == std::string_view::npos) return;
        set(variable.substr(0, equals), variable.substr(equals + 1));
    }
    [[nodiscard]] std::string_view get(std::string_view name) const {
        const auto found = place_.find(name);
        if (found == place_.end()) return {};
        return std::string_view(variables_[found->second]).substr(name.size() + 1);
    }
    [[nodiscard]] bool has(std::string_view name) const { return place_.contains(name); }
    [[nodiscard]] Environment take() { return std::move(variables_); }

  private:
    Environment variables_;
    std::map<std::string, std::size_t, std::less<>> place_;
};

std::int64_t unix_seconds(WallTime time) {
    return std::chrono::duration_cast<Seconds>(time.time_since_epoch()).count();
}

std::vector<std::uint16_t> gpu_indexes(const api::LaunchOrder& order,
                                       std::span<const std::uint16_t> among) {
    std::vector<std::uint16_t> gpus;
    for (std::size_t i = 0; i < order.grant.devices.size(); ++i) {
        const std::uint16_t index = order.grant.devices[i];
        const bool is_gpu = i >= order.device_class_paths.size() ||
                            model::is_of_class(order.device_class_paths[i], "gpu");
        if (is_gpu && std::ranges::find(among, index) != among.end()) gpus.push_back(index);
    }
    std::ranges::sort(gpus);
    return gpus;
}

void set_login(Builder& env, const HostFacts& host) {
    env.set_default("HOME", host.home);
    env.set_default("USER", host.user_name);
    env.set_default("LOGNAME", host.user_name);
    env.set_default("SHELL", host.shell);
    env.set_default("PATH", "/usr/local/bin:/usr/bin:/bin");
    if (!host.command_folder.empty()) {
        const std::string_view path = env.get("PATH");
        const bool is_first =
            path == host.command_folder || path.starts_with(host.command_folder + ":");
        if (!is_first) env.set("PATH", host.command_folder + ":" + std::string(path));
    }
    if (!host.slurm_conf.empty()) env.set("SLURM_CONF", host.slurm_conf);
    env.set_default("TMPDIR", host.tmp_dir);
    env.set("HOSTNAME", host.host_name.empty() ? host.node_name : host.host_name);
}

std::uint32_t cpus_here(const api::LaunchOrder& order, const HostFacts& host) {
    if (order.grant_index < order.gang.cpus.size()) return order.gang.cpus[order.grant_index];
    if (!order.grant.cpus.empty()) return static_cast<std::uint32_t>(order.grant.cpus.size());
    return host.cpus_on_node;
}

/// How many tasks srun would start on each node: the members if the job said how many tasks it has,
/// else as many as its cpus serve.
std::vector<std::uint32_t> tasks_per_node(const api::LaunchOrder& order, const Builder& env) {
    if (env.has("SLURM_NTASKS")) return order.gang.members;
    std::uint32_t per_task = 1;
    const Result<std::uint32_t> said =
        parse_number<std::uint32_t>(env.get("SLURM_CPUS_PER_TASK"), 1);
    if (said) per_task = *said;
    std::vector<std::uint32_t> tasks = order.gang.cpus;
    for (std::uint32_t& count : tasks)
        count = std::max<std::uint32_t>(count / per_task, 1);
    return tasks;
}

/// What every process of the job sees on this node.
void set_job(Builder& env, const api::LaunchOrder& order, const HostFacts& host) {
    const std::string id = std::to_string(order.job.value());
    const std::string nodes = fold_hostlist(order.gang.nodes);
    env.set("SLURM_JOB_ID", id);
    env.set("SLURM_JOBID", id);
    env.set("SLURM_JOB_NAME", order.name);
    env.set("SLURM_JOB_USER", host.user_name);
    env.set("SLURM_JOB_UID", order.uid);
    env.set("SLURM_JOB_GROUP", host.group_name);
    env.set("SLURM_JOB_GID", order.gid);
    env.set("SLURM_JOB_ACCOUNT", order.queue);
    env.set("SLURM_JOB_PARTITION", order.partition);
    env.set("SLURM_JOB_QOS", order.qos);
    env.set("SLURM_CLUSTER_NAME", order.cluster);
    env.set("SLURM_JOB_NODELIST", nodes);
    env.set("SLURM_NODELIST", nodes);
    env.set("SLURM_JOB_NUM_NODES", order.gang.nodes.size());
    env.set("SLURM_NNODES", order.gang.nodes.size());
    env.set("SLURM_JOB_CPUS_PER_NODE", compress_counts(order.gang.cpus));
    for (const auto& [name, value] : order.launch.extra_environment)
        env.set(name, value);
    env.set("SLURM_TASKS_PER_NODE", compress_counts(tasks_per_node(order, env)));
    env.set("SLURM_CPUS_ON_NODE", cpus_here(order, host));
    env.set("SLURMD_NODENAME", host.node_name);
    env.set_default("SLURM_SUBMIT_DIR", order.launch.work_dir);
    env.set("SLURM_SUBMIT_HOST", order.launch.submit_host);
    env.set("SLURM_RESTART_COUNT", order.restarts);
    env.set("SLURM_TOPOLOGY_ADDR", host.node_name);
    env.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
    env.set("SLURM_PRIO_PROCESS", "0");
    env.set("SLURM_OOM_KILL_STEP", "0");
    const std::int64_t started = unix_seconds(order.started_wall);
    if (started > 0) {
        env.set("SLURM_JOB_START_TIME", std::to_string(started));
        constexpr std::int64_t kEndless = std::int64_t{100} * 365 * 86'400;
        std::int64_t length = kEndless;
        if (order.time_limit) {
            length = std::chrono::duration_cast<Seconds>(*order.time_limit).count();
        }
        env.set("SLURM_JOB_END_TIME", std::to_string(started + std::min(length, kEndless)));
    }
}

void set_gpus(Builder& env, std::string_view name, std::span<const std::uint16_t> gpus) {
    if (gpus.empty()) return;
    const std::string list = index_list(gpus);
    env.set(name, list);
    env.set("SLURM_GPUS_ON_NODE", gpus.size());
    env.set("CUDA_VISIBLE_DEVICES", list);
}

/// The GPUs that one task sees: all of the step on its node, or with --gpus-per-task its own part.
std::vector<std::uint16_t> gpus_of_task(std::vector<std::uint16_t> gpus,
                                        const api::StepLaunch& step,
                                        const TaskPlace& place) {
    if (!step.request.gpus_per_task || step.tasks == 0) return gpus;
    const std::size_t each = gpus.size() / step.tasks;
    if (each == 0) return gpus;
    const std::size_t first = std::min(each * place.local_id, gpus.size() - each);
    return {gpus.begin() + static_cast<std::ptrdiff_t>(first),
            gpus.begin() + static_cast<std::ptrdiff_t>(first + each)};
}

std::string ranks_here(const api::StepLaunch& step) {
    std::string ranks;
    for (std::uint32_t i = 0; i < step.tasks; ++i) {
        if (i > 0) ranks += ',';
        ranks += std::to_string(step.first_task + i);
    }
    return ranks;
}

}  // namespace

Environment batch_environment(const api::LaunchOrder& order,
                              const HostFacts& host,
                              std::span<const std::string> submitted) {
    Builder env;
    for (const std::string& variable : submitted) {
        if (!belongs_to_running_job(variable)) env.add(variable);
    }
    set_login(env, host);
    set_job(env, order, host);
    env.set("ENVIRONMENT", "BATCH");
    for (const char* name : {"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS"}) {
        env.set(name, "0");
    }
    set_gpus(env, "SLURM_JOB_GPUS", gpu_indexes(order, order.grant.devices));
    return env.take();
}

Environment task_environment(const api::LaunchOrder& order,
                             const api::StepLaunch& step,
                             const TaskPlace& place,
                             const HostFacts& host) {
    Builder env;
    for (const std::string& variable : step.request.environment) {
        // srun's own variables hold what the job asked for; the step's places are set below.
        const bool of_place = variable.starts_with("CUDA_VISIBLE_DEVICES=") ||
                              variable.starts_with("SLURM_GPUS_ON_NODE=") ||
                              variable.starts_with("SLURM_JOB_GPUS=") ||
                              variable.starts_with("ENVIRONMENT=");
        if (!of_place) env.add(variable);
    }
    set_login(env, host);
    set_job(env, order, host);
    const std::string nodes = fold_hostlist(step.nodes);
    const std::string tasks = compress_counts(step.tasks_per_node);
    env.set("SLURM_NTASKS", step.total_tasks);
    env.set("SLURM_NPROCS", step.total_tasks);
    env.set("SLURM_NNODES", step.nodes.size());
    env.set("SLURM_TASKS_PER_NODE", tasks);
    env.set("SLURM_STEP_ID", step.step);
    env.set("SLURM_STEPID", step.step);
    env.set("SLURM_STEP_NODELIST", nodes);
    env.set("SLURM_STEP_NUM_NODES", step.nodes.size());
    env.set("SLURM_STEP_NUM_TASKS", step.total_tasks);
    env.set("SLURM_STEP_TASKS_PER_NODE", tasks);
    env.set("SLURM_NODEID", step.node_index);
    env.set("SLURM_PROCID", place.rank);
    env.set("SLURM_LOCALID", place.local_id);
    env.set("SLURM_GTIDS", ranks_here(step));
    if (step.request.cpus_per_task) env.set("SLURM_CPUS_PER_TASK", *step.request.cpus_per_task);
    if (place.pid > 0) env.set("SLURM_TASK_PID", std::to_string(place.pid));
    if (!host.address.empty()) {
        env.set("SLURM_LAUNCH_NODE_IPADDR", host.address);
        env.set("SLURM_SRUN_COMM_HOST", host.address);
    }
    const std::vector<std::uint16_t> all = gpu_indexes(order, order.grant.devices);
    if (!all.empty()) env.set("SLURM_JOB_GPUS", index_list(all));
    const std::vector<std::uint16_t> of_step = gpu_indexes(order, step.devices);
    set_gpus(env, "SLURM_STEP_GPUS", of_step);
    if (!of_step.empty()) {
        env.set("CUDA_VISIBLE_DEVICES", index_list(gpus_of_task(of_step, step, place)));
    }
    return env.take();
}

std::string join_environment(std::span<const std::string> environment) {
    std::string blob;
    for (const std::string& variable : environment) {
        blob += variable;
        blob += '\0';
    }
    return blob;
}

Environment split_environment(std::string_view blob) {
    Environment environment;
    while (!blob.empty()) {
        const std::size_t end = std::min(blob.find('\0'), blob.size());
        if (end > 0) environment.emplace_back(blob.substr(0, end));
        blob.remove_prefix(std::min(end + 1, blob.size()));
    }
    return environment;
}

std::string compress_counts(std::span<const std::uint32_t> counts) {
    std::string out;
    for (std::size_t i = 0; i < counts.size();) {
        std::size_t end = i + 1;
        while (end < counts.size() && counts[end] == counts[i])
            ++end;
        if (!out.empty()) out += ',';
        out += std::to_string(counts[i]);
        if (end - i > 1) out += "(x" + std::to_string(end - i) + ")";
        i = end;
    }
    return out;
}

std::vector<std::uint32_t> expand_counts(std::string_view text) {
    constexpr std::size_t kMost = 65'536;
    std::vector<std::uint32_t> counts;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t open = entry.find("(x");
        std::size_t repeat = 1;
        if (open != std::string_view::npos) {
            if (!entry.ends_with(')')) return {};
            const Result<std::size_t> times = parse_number<std::size_t>(
                entry.substr(open + 2, entry.size() - open - 3), 1, kMost);
            if (!times) return {};
            repeat = *times;
        }
        const Result<std::uint32_t> count = parse_number<std::uint32_t>(entry.substr(0, open));
        if (!count || counts.size() + repeat > kMost) return {};
        counts.insert(counts.end(), repeat, *count);
    }
    return counts;
}

std::string index_list(std::span<const std::uint16_t> indexes) {
    std::string out;
    for (const std::uint16_t index : indexes) {
        if (!out.empty()) out += ',';
        out += std::to_string(index);
    }
    return out;
}

std::string index_ranges(std::span<const std::uint16_t> indexes) {
    std::string out;
    for (std::size_t i = 0; i < indexes.size();) {
        std::size_t end = i;
        while (end + 1 < indexes.size() && indexes[end + 1] == indexes[end] + 1)
            ++end;
        if (!out.empty()) out += ',';
        out += std::to_string(indexes[i]);
        if (end > i) out += "-" + std::to_string(indexes[end]);
        i = end + 1;
    }
    return out;
}

Environment apply_export(std::string_view export_option, std::span<const std::string> environment) {
    const auto always = [](std::string_view variable) {
        return variable.starts_with("SLURM_") || variable.starts_with("SPANK_");
    };
    const bool plain_all = export_option.empty() || equal_nocase(export_option, "ALL");
    if (plain_all) return {environment.begin(), environment.end()};
    std::vector<std::string_view> words;
    if (!equal_nocase(export_option, "NONE") && !equal_nocase(export_option, "NIL")) {
        words = split_list(export_option);
    }
    const bool all =
        std::ranges::any_of(words, [](std::string_view word) { return equal_nocase(word, "ALL"); });
    Builder out;
    for (const std::string& variable : environment) {
        const std::string_view name = name_of(variable);
        if (all || always(variable) || std::ranges::find(words, name) != words.end()) {
            out.add(variable);
        }
    }
    for (const std::string_view word : words) {
        if (word.find('=') != std::string_view::npos) out.add(word);
    }
    return out.take();
}

}  // namespace twinyard::slurm
