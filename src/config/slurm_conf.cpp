// Reading slurm.conf: read_lines() cuts the text, Builder sorts the lines by their first keyword
// and applies each pair by its table row, validate() (validate.cpp) then looks at the whole: names
// that must exist, values that must agree. How a finding is worded is the business of the tables
// and of entries.cpp.
#include "config/slurm_conf.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "config/host_names.h"
#include "config/validate.h"

namespace twinyard::config {

namespace {

Status set_down_state(DownNodesLine& line, std::string_view text) {
    TRY(line.state, parse_node_state(text));
    return {};
}

constexpr auto kDownNodesTable = std::to_array<Entry<DownNodesLine>>({
    {.key = "DownNodes", .set = set_text<&DownNodesLine::nodes_text>},
    {.key = "Reason", .set = set_text<&DownNodesLine::reason>},
    {.key = "State", .set = set_down_state},
});

constexpr auto kNodeSetTable = std::to_array<Entry<NodeSetLine>>({
    {.key = "Feature", .set = set_list<&NodeSetLine::features>},
    {.key = "Nodes", .set = set_text<&NodeSetLine::nodes_text>},
    {.key = "NodeSet", .set = set_text<&NodeSetLine::name>},
});

/// The options that SchedulerParameters may have, as current Slurm knows them.
constexpr auto kSchedulerOptions = std::to_array<std::string_view>({
    "allow_zero_lic",
    "assoc_limit_stop",
    "batch_sched_delay",
    "bb_array_stage_cnt",
    "bf_allow_magnetic_slot",
    "bf_busy_nodes",
    "bf_continue",
    "bf_hetjob_immediate",
    "bf_hetjob_prio",
    "bf_interval",
    "bf_job_part_count_reserve",
    "bf_licenses",
    "bf_max_job_array_resv",
    "bf_max_job_assoc",
    "bf_max_job_part",
    "bf_max_job_start",
    "bf_max_job_test",
    "bf_max_job_user",
    "bf_max_job_user_part",
    "bf_max_time",
    "bf_min_age_reserve",
    "bf_min_prio_reserve",
    "bf_node_space_size",
    "bf_one_resv_per_job",
    "bf_resolution",
    "bf_running_job_reserve",
    "bf_topopt_enable",
    "bf_topopt_iterations",
    "bf_window",
    "bf_window_linear",
    "bf_yield_interval",
    "bf_yield_rpc_cnt",
    "bf_yield_sleep",
    "build_queue_timeout",
    "correspond_after_task_cnt",
    "default_queue_depth",
    "defer",
    "defer_batch",
    "delay_boot",
    "disable_hetjob_steps",
    "disable_job_shrink",
    "enable_hetjob_steps",
    "enable_job_state_cache",
    "enable_user_top",
    "extra_constraints",
    "ignore_constraint_validation",
    "ignore_numa",
    "ignore_prefer_validation",
    "max_array_tasks",
    "max_rpc_cnt",
    "max_sched_time",
    "max_script_size",
    "max_submit_line_size",
    "max_switch_wait",
    "no_backup_scheduling",
    "no_env_cache",
    "nohold_on_prolog_fail",
    "pack_serial_at_end",
    "partition_job_depth",
    "preempt_reorder_count",
    "preempt_strict_order",
    "preempt_youngest_first",
    "reduce_completing_frag",
    "requeue_delay",
    "requeue_setup_env_fail",
    "salloc_wait_nodes",
    "sbatch_wait_nodes",
    "sched_interval",
    "sched_max_job_start",
    "sched_min_interval",
    "spec_cores_first",
    "step_retry_count",
    "step_retry_time",
    "time_min_as_soft_limit",
    "whole_hetjob",
});

constexpr std::string_view kHonouredOptions = "bf_max_job_test,requeue_delay";

class Builder {
  public:
    Builder(SlurmConf& conf, Findings& findings)
        : conf_(conf), findings_(findings), hosts_(findings) {}

    void take(const ConfLine& line) {
        const std::string_view first = line.pairs.front().key;
        if (equal_nocase(first, "NodeName")) return take_nodes(line);
        if (equal_nocase(first, "PartitionName")) return take_partition(line);
        if (equal_nocase(first, "DownNodes")) return take_down_nodes(line);
        if (equal_nocase(first, "NodeSet")) return take_node_set(line);
        if (equal_nocase(first, "FrontendName")) {
            return say(line, Severity::NoEffect, "FrontendName: gone from current Slurm");
        }
        for (const Pair& pair : line.pairs)
            take_parameter(line, pair);
    }

  private:
    void say(const ConfLine& at, Severity severity, std::string text) {
        findings_.add({at.file, at.line, severity, std::move(text)});
    }

    template <class Target>
    void apply(std::span<const Entry<Target>> table,
               std::string_view kind,
               const ConfLine& line,
               Target& target) {
        for (const Pair& pair : line.pairs) {
            if (pair.op != 0) {
                say(line, Severity::Error, pair.key + pair.op + "=: only '=' is understood here");
                continue;
            }
            apply_pair(table, kind, line, pair, target, findings_);
        }
    }

    void take_nodes(const ConfLine& line) {
        const bool is_default = equal_nocase(line.pairs.front().value, "DEFAULT");
        NodeLine node = node_default_;
        node.file = line.file;
        node.line = line.line;
        apply(node_table(), "node keyword", line, node);
        if (is_default) {
            node_default_ = std::move(node);
            return;
        }
        if (node_total_ > kHostlistMax) return;  // Said where it happened; the file is not used.
        hosts_.expand(line, "", node.names_text, node.names);
        node_total_ += node.names.size();
        if (node_total_ > kHostlistMax) {
            return say(line, Severity::Error, "more than 65536 nodes");
        }
        hosts_.expand(line, "", node.addresses_text, node.addresses);
        hosts_.expand(line, "", node.host_names_text, node.host_names);
        check_zipped(line, "NodeAddr", node.names, node.addresses);
        check_zipped(line, "NodeHostname", node.names, node.host_names);
        conf_.nodes.push_back(std::move(node));
    }

    void check_zipped(const ConfLine& line,
                      std::string_view key,
                      const std::vector<std::string>& names,
                      std::vector<std::string>& others) {
        if (others.empty() || others.size() == names.size()) return;
        say(line,
            Severity::Error,
            std::string(key) + " stands for " + std::to_string(others.size()) +
                " nodes, NodeName for " + std::to_string(names.size()));
        others.clear();
    }

    void take_partition(const ConfLine& line) {
        const bool is_default = equal_nocase(line.pairs.front().value, "DEFAULT");
        PartitionLine partition = partition_default_;
        partition.file = line.file;
        partition.line = line.line;
        apply(partition_table(), "partition keyword", line, partition);
        if (is_default) {
            partition_default_ = std::move(partition);
            return;
        }
        if (partition.name.empty()) {
            return say(line, Severity::Error, "PartitionName: a name is missing");
        }
        conf_.partitions.push_back(std::move(partition));
    }

    void take_down_nodes(const ConfLine& line) {
        DownNodesLine down;
        down.file = line.file;
        down.line = line.line;
        apply(std::span<const Entry<DownNodesLine>>(kDownNodesTable),
              "DownNodes keyword",
              line,
              down);
        hosts_.expand(line, "", down.nodes_text, down.nodes);
        conf_.down_nodes.push_back(std::move(down));
    }

    void take_node_set(const ConfLine& line) {
        NodeSetLine set;
        set.file = line.file;
        set.line = line.line;
        apply(std::span<const Entry<NodeSetLine>>(kNodeSetTable), "NodeSet keyword", line, set);
        hosts_.expand(line, "", set.nodes_text, set.nodes);
        if (is_one_of(set.name, "default,all") || set.name.empty()) {
            return say(
                line, Severity::Error, "NodeSet: '" + set.name + "' is not a name it may have");
        }
        conf_.node_sets.push_back(std::move(set));
    }

    void take_parameter(const ConfLine& line, const Pair& pair) {
        if (pair.op != 0) {
            return say(
                line, Severity::Error, pair.key + pair.op + "=: only '=' is understood here");
        }
        if (belongs_elsewhere(line, pair)) return;
        const auto* row =
            apply_pair(parameter_table(), "parameter", line, pair, conf_.parameters, findings_);
        if (row == nullptr) return;
        const std::string key(row->key);
        if (key == "SchedulerParameters") look_at_scheduler_options(line, pair.value);
        const bool repeats = key != "SlurmctldHost" && conf_.given.contains(key);
        if (repeats) say(line, Severity::Info, key + " is given again; the last one counts");
        conf_.given[key] = pair.value;
    }

    /// A keyword of a node or partition line that stands alone is the usual slip with a lost
    /// backslash.
    bool belongs_elsewhere(const ConfLine& line, const Pair& pair) {
        if (find_entry(parameter_table(), pair.key) != nullptr) return false;
        const bool of_node = find_entry(node_table(), pair.key) != nullptr;
        const bool of_partition = find_entry(partition_table(), pair.key) != nullptr;
        if (!of_node && !of_partition) return false;
        say(line,
            Severity::Error,
            pair.key + ": this keyword belongs on a " +
                (of_partition ? "PartitionName" : "NodeName") + " line");
        return true;
    }

    void look_at_scheduler_options(const ConfLine& line, std::string_view text) {
        for (const std::string_view part : split_list(text)) {
            const std::string option = to_lower(part.substr(0, part.find('=')));
            if (is_one_of(option, kHonouredOptions)) continue;
            const std::string what = "SchedulerParameters: " + printable(option, 60);
            if (std::ranges::find(kSchedulerOptions, option) != kSchedulerOptions.end()) {
                say(line, Severity::NoEffect, what + ": the engine has no such setting");
            } else {
                say(line,
                    Severity::NoEffect,
                    what + ": unknown option" + did_you_mean(option, kSchedulerOptions));
            }
        }
    }

    SlurmConf& conf_;
    Findings& findings_;
    HostNames hosts_;
    std::size_t node_total_ = 0;
    NodeLine node_default_;
    PartitionLine partition_default_;
};

/// The text of a file that may be absent; what else is wrong with it is a finding.
std::string optional_file(const std::string& path, const FileLoader& loader, Findings& findings) {
    Result<std::string> text = loader(path);
    if (text) return *std::move(text);
    if (text.error().code() != ErrorCode::NotFound) {
        findings.add({path, 0, Severity::Error, text.error().message()});
    }
    return {};
}

}  // namespace

std::size_t SlurmConf::node_count() const {
    std::size_t count = 0;
    for (const NodeLine& line : nodes)
        count += line.names.size();
    return count;
}

SlurmConf builtin_conf() {
    SlurmConf conf;
    conf.parameters.max_job_count = 1'000'000;
    conf.parameters.max_array_size = 1'000'001;
    return conf;
}

Reading read(std::string_view text, const std::string& name, const FileLoader& loader) {
    Reading reading;
    reading.conf.file = name;
    Builder builder(reading.conf, reading.findings);
    for (const ConfLine& line : read_lines(text, name, loader, reading.findings))
        builder.take(line);
    validate(reading.conf, reading.findings);
    return reading;
}

Reading read(const std::string& path) {
    const FileLoader loader = [](const std::string& file) { return read_file(file); };
    const Result<std::string> text = loader(path);
    if (!text) {
        Reading failed;
        failed.conf.file = path;
        failed.findings.add({path, 0, Severity::Error, text.error().message()});
        return failed;
    }
    Reading reading = read(*text, path, loader);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    SlurmConf& conf = reading.conf;
    Findings& findings = reading.findings;
    const auto beside = [&](const char* name, auto read_it, auto& target) {
        const std::string file = optional_file(folder + name, loader, findings);
        target = read_it(file, folder + name, loader, findings);
    };
    beside("gres.conf", read_gres_conf, conf.gres);
    beside("cgroup.conf", read_cgroup_conf, conf.cgroup);
    beside("topology.conf", read_topology_conf, conf.topology);
    return reading;
}

Result<SlurmConf> parse(std::string_view text, const std::string& name, const FileLoader& loader) {
    Reading reading = read(text, name, loader);
    TRY_STATUS(reading.findings.status());
    return std::move(reading.conf);
}

Result<SlurmConf> load(const std::string& path) {
    Reading reading = read(path);
    TRY_STATUS(reading.findings.status());
    return std::move(reading.conf);
}

}  // namespace twinyard::config
