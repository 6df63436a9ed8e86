#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/conf_text.h"
#include "config/finding.h"
#include "config/gres_conf.h"
#include "config/node_line.h"
#include "config/parameters.h"
#include "config/partition_line.h"
#include "config/side_files.h"

namespace twinyard::config {

/// `DownNodes=` line: what has happened to nodes, beside how they are built.
struct DownNodesLine {
    std::string file;
    std::size_t line = 0;
    std::vector<std::string> nodes;
    NodeState state = NodeState::Down;
    std::string reason;
    std::string nodes_text;
};

/// `NodeSet=` line: a name for nodes, by feature or by name.
struct NodeSetLine {
    std::string file;
    std::size_t line = 0;
    std::string name;
    std::vector<std::string> features;
    std::vector<std::string> nodes;  ///< Those named; the ones with the feature come on top.
    std::string nodes_text;
};

/// A slurm.conf and the files beside it, as written. Plain data.
struct SlurmConf {
    std::string file;
    Parameters parameters;
    std::vector<NodeLine> nodes;  ///< In the order of the file; a name is on one line only.
    std::vector<PartitionLine> partitions;
    std::vector<NodeSetLine> node_sets;
    std::vector<DownNodesLine> down_nodes;
    GresConf gres;
    CgroupConf cgroup;
    TopologyConf topology;
    /// The text of each parameter that the file gives, by its name in the table.
    std::map<std::string, std::string> given;

    [[nodiscard]] std::size_t node_count() const;
};

/// What was read, and all that is to be said about it.
struct Reading {
    SlurmConf conf;
    Findings findings;
};

/// What holds without any slurm.conf: Slurm's defaults, but a million jobs and array elements.
[[nodiscard]] SlurmConf builtin_conf();

/// Reads a configuration text; Include goes through the loader. Never fails as a whole: the
/// findings tell.
[[nodiscard]] Reading read(std::string_view text,
                           const std::string& name,
                           const FileLoader& loader);

/// The same for a file of the disk, with gres.conf, cgroup.conf and topology.conf of its folder
/// where they exist.
[[nodiscard]] Reading read(const std::string& path);

/// A configuration that can be used: InvalidArgument names the first error and how many more there
/// are.
[[nodiscard]] Result<SlurmConf> parse(std::string_view text,
                                      const std::string& name,
                                      const FileLoader& loader);
[[nodiscard]] Result<SlurmConf> load(const std::string& path);

}  // namespace twinyard::config
