// The checks over the whole of a slurm.conf: nodes first (each name once, counts that agree), then
// node sets and DownNodes, then partitions, whose node lists are resolved here, then the deviations
// of SLURM.md §5.
#include "config/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "config/host_names.h"
#include "config/memory_rule.h"

namespace twinyard::config {

namespace {

/// Did-you-mean looks at this many names: among thousands of alike ones it finds nothing useful.
constexpr std::size_t kCandidatesMax = 200;

class Validator {
  public:
    Validator(SlurmConf& conf, Findings& findings)
        : conf_(conf), findings_(findings), hosts_(findings) {}

    void run() {
        check_parameters();
        for (NodeLine& line : conf_.nodes)
            check_node_line(line);
        for (NodeSetLine& set : conf_.node_sets)
            check_node_set(set);
        for (const DownNodesLine& down : conf_.down_nodes) {
            check_known(down.file, down.line, "DownNodes", down.nodes);
        }
        for (PartitionLine& partition : conf_.partitions)
            check_partition(partition);
        check_partitions_together();
        say_deviations();
    }

  private:
    template <class File>
    void say(const File& file, std::size_t line, Severity severity, std::string text) {
        findings_.add({file, line, severity, std::move(text)});
    }

    void check_parameters() {
        const Parameters& p = conf_.parameters;
        check_memory(conf_.file, 0, p.memory_default, p.memory_max);
        if (p.first_job_id > p.max_job_id) {
            say(conf_.file, 0, Severity::Error, "FirstJobId is above MaxJobId");
        }
    }

    void check_memory(const std::string& file,
                      std::size_t line,
                      const model::MemoryRule& lowest,
                      const model::MemoryRule& highest) {
        if (set_count(lowest) > 1) {
            say(file,
                line,
                Severity::Error,
                "DefMemPerCPU, DefMemPerGPU and DefMemPerNode exclude each other");
        }
        if (set_count(highest) > 1) {
            say(file, line, Severity::Error, "MaxMemPerCPU and MaxMemPerNode exclude each other");
        }
    }

    void check_node_line(NodeLine& line) {
        if (line.names.empty()) return;
        for (const std::string& name : line.names) {
            const auto [place, is_new] = nodes_.emplace(name, &line);
            if (!is_new) {
                say(line.file,
                    line.line,
                    Severity::Error,
                    "node " + printable(name, 60) + " was defined before, at line " +
                        std::to_string(place->second->line));
                break;  // One is enough: the rest of the range repeats too.
            }
        }
        check_cpus(line);
        for (const GresItem& item : line.gres) {
            if (item.count <= kDevicesMax) continue;
            say(line.file,
                line.line,
                Severity::NoEffect,
                "Gres " + item.name + ": a count over " + std::to_string(kDevicesMax) +
                    " is no number of devices; it is not scheduled");
        }
    }

    void check_cpus(NodeLine& line) {
        if (line.sockets && line.sockets_per_board) {
            say(line.file,
                line.line,
                Severity::Error,
                "Sockets and SocketsPerBoard exclude each other");
            return;
        }
        if (line.sockets_per_board)
            line.sockets = line.boards.value_or(1) * *line.sockets_per_board;
        const std::uint64_t cores =
            std::uint64_t{line.sockets.value_or(1)} * line.cores_per_socket.value_or(1);
        const std::uint64_t threads = cores * line.threads_per_core.value_or(1);
        const bool has_shape = line.sockets || line.cores_per_socket || line.threads_per_core;
        if (!has_shape) return;
        if (threads > 0xffff) {
            say(line.file, line.line, Severity::Error, "more than 65535 CPUs on a node");
            return;
        }
        if (!line.cpus) return;
        const bool agrees =
            *line.cpus == threads || *line.cpus == cores || *line.cpus == line.sockets.value_or(1);
        if (agrees) return;
        say(line.file,
            line.line,
            Severity::Error,
            "CPUs=" + std::to_string(*line.cpus) + " is neither the " + std::to_string(threads) +
                " threads nor the " + std::to_string(cores) +
                " cores that Sockets, CoresPerSocket and ThreadsPerCore make");
    }

    void check_node_set(NodeSetLine& set) {
        check_known(set.file, set.line, "NodeSet " + set.name, set.nodes);
        for (const NodeLine& line : conf_.nodes) {
            const bool has = std::ranges::any_of(line.features, [&](const std::string& feature) {
                return std::ranges::find(set.features, feature) != set.features.end();
            });
            if (!has) continue;
            if (!hosts_.spend({set.file, set.line, {}}, line.names.size())) break;
            set.nodes.insert(set.nodes.end(), line.names.begin(), line.names.end());
        }
        if (!sets_.emplace(set.name, &set).second) {
            say(set.file,
                set.line,
                Severity::Error,
                "NodeSet " + printable(set.name, 60) + " was defined before");
        }
    }

    /// Reports the first name that no NodeName line has.
    bool check_known(const std::string& file,
                     std::size_t line,
                     const std::string& what,
                     const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (nodes_.contains(name)) continue;
            std::vector<std::string_view> near;
            for (const auto& [known, _] : nodes_) {
                if (near.size() == kCandidatesMax || findings_.full()) break;
                near.push_back(known);
            }
            say(file,
                line,
                Severity::Error,
                what + ": no NodeName line has '" + printable(name, 60) + "'" +
                    did_you_mean(name, near));
            return false;
        }
        return true;
    }

    void check_partition(PartitionLine& partition) {
        const std::string what = "partition " + printable(partition.name, 60);
        resolve_nodes(partition, what);
        const auto complain = [&](std::string text) {
            say(partition.file, partition.line, Severity::Error, what + ": " + std::move(text));
        };
        check_memory(
            partition.file, partition.line, partition.memory_default, partition.memory_max);
        if (partition.default_time && *partition.default_time > partition.max_time) {
            complain("DefaultTime is above MaxTime");
        }
        if (partition.max_nodes && partition.min_nodes > *partition.max_nodes) {
            complain("MinNodes is above MaxNodes");
        }
        if (!partition.allow_accounts.empty() && !partition.deny_accounts.empty()) {
            say(partition.file,
                partition.line,
                Severity::Info,
                what + ": DenyAccounts is not looked at beside AllowAccounts");
        }
    }

    void resolve_nodes(PartitionLine& partition, const std::string& what) {
        partition.all_nodes = equal_nocase(trim(partition.nodes_text), "ALL");
        if (partition.all_nodes) return;
        std::set<std::string> seen;
        for (const std::string_view item : split_hostlist(partition.nodes_text)) {
            std::vector<std::string> names;
            const ConfLine at{partition.file, partition.line, {}};
            const auto set = sets_.find(item);
            if (set != sets_.end()) {
                if (!hosts_.spend(at, set->second->nodes.size())) return;
                names = set->second->nodes;
            } else {
                if (!hosts_.expand(at, what, item, names)) continue;
                if (!check_known(partition.file, partition.line, what, names)) continue;
            }
            for (std::string& name : names) {
                if (seen.insert(name).second) partition.nodes.push_back(std::move(name));
            }
        }
    }

    void check_partitions_together() {
        std::map<std::string, std::size_t> lines;
        PartitionLine* chosen = nullptr;
        for (PartitionLine& partition : conf_.partitions) {
            const auto [place, is_new] = lines.emplace(partition.name, partition.line);
            if (!is_new) {
                say(partition.file,
                    partition.line,
                    Severity::Error,
                    "partition " + printable(partition.name, 60) + " was defined before, at line " +
                        std::to_string(place->second));
            }
            if (!partition.is_default) continue;
            if (chosen != nullptr) {
                chosen->is_default = false;
                say(partition.file,
                    partition.line,
                    Severity::Info,
                    "the default partition is now " + printable(partition.name, 60) +
                        ", no longer " + printable(chosen->name, 60));
            }
            chosen = &partition;
        }
        if (conf_.nodes.empty()) say(conf_.file, 0, Severity::Info, "there is no NodeName line");
        if (lines.empty()) say(conf_.file, 0, Severity::Info, "there is no PartitionName line");
        if (!lines.empty() && chosen == nullptr) {
            say(conf_.file,
                0,
                Severity::Info,
                "no partition has Default=YES: every job must name its partition");
        }
    }

    /// What Slurm would refuse or take otherwise: SLURM.md §5.
    void say_deviations() {
        if (!conf_.given.contains("ClusterName")) {
            say(conf_.file,
                0,
                Severity::Deviation,
                "ClusterName is missing: the cluster is called 'twinyard' (Slurm would not start)");
        }
        if (conf_.parameters.controllers.empty()) {
            say(conf_.file,
                0,
                Severity::Deviation,
                "SlurmctldHost is missing: it is this host (Slurm would not start)");
        }
        for (const NodeLine& line : conf_.nodes) {
            say_gres_deviation(line);
            const bool has_cpus = line.cpus || line.sockets || line.cores_per_socket;
            if (has_cpus || line.names.empty()) continue;
            say(line.file,
                line.line,
                Severity::Deviation,
                "nodes " + printable(line.names_text, 60) +
                    " have the CPUs that their agents find (in Slurm: 1 CPU each)");
        }
        for (const PartitionLine& partition : conf_.partitions) {
            if (partition.qos.empty()) continue;
            say(partition.file,
                partition.line,
                Severity::Deviation,
                "QOS " + printable(partition.qos, 60) +
                    " exists because this partition names it (Slurm would look in its database)");
        }
    }

    /// Adds to GresTypes, so that all later readers find one complete list.
    void say_gres_deviation(const NodeLine& line) {
        auto& types = conf_.parameters.gres_types;
        for (const GresItem& item : line.gres) {
            const bool named = std::ranges::any_of(
                types, [&](const std::string& type) { return equal_nocase(type, item.name); });
            if (named) continue;
            types.push_back(item.name);
            say(line.file,
                line.line,
                Severity::Deviation,
                "GresTypes=" + item.name +
                    " is taken from Gres (Slurm would refuse requests for it)");
        }
    }

    SlurmConf& conf_;
    Findings& findings_;
    HostNames hosts_;
    std::map<std::string, const NodeLine*, std::less<>> nodes_;
    std::map<std::string, const NodeSetLine*, std::less<>> sets_;
};

}  // namespace

void validate(SlurmConf& conf, Findings& findings) {
    Validator(conf, findings).run();
}

}  // namespace twinyard::config
