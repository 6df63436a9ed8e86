#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/entries.h"

namespace twinyard::config {

/// What cgroup.conf asks for.
struct CgroupConf {
    bool constrain_cores = false;
    bool constrain_devices = false;
    bool constrain_ram = false;
    bool constrain_swap = false;
    std::uint32_t allowed_ram_percent = 100;
    std::uint32_t allowed_swap_percent = 0;
    std::string plugin = "autodetect";
    std::string mount_point = "/sys/fs/cgroup";
};

/// One line of topology.conf: a switch above nodes or above other switches, or a block of nodes.
struct SwitchLine {
    std::string file;
    std::size_t line = 0;
    std::string name;
    bool is_block = false;
    std::vector<std::string> switches;
    std::vector<std::string> nodes;
    std::string switches_text, nodes_text, block_name;
};

struct TopologyConf {
    std::vector<SwitchLine> switches;
};

[[nodiscard]] std::span<const Entry<CgroupConf>> cgroup_table();
[[nodiscard]] std::span<const Entry<SwitchLine>> topology_table();

[[nodiscard]] CgroupConf read_cgroup_conf(std::string_view text,
                                          const std::string& name,
                                          const FileLoader& loader,
                                          Findings& findings);
[[nodiscard]] TopologyConf read_topology_conf(std::string_view text,
                                              const std::string& name,
                                              const FileLoader& loader,
                                              Findings& findings);

}  // namespace twinyard::config
