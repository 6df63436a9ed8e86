#include "config/side_files.h"

#include <array>

#include "config/host_names.h"

namespace twinyard::config {

namespace {

using C = CgroupConf;
using S = SwitchLine;

constexpr std::string_view kKernelMemory = "kernel memory is not limited apart";
constexpr std::string_view kAtOnce = "agents find out by themselves which cgroups they may use";
constexpr std::string_view kNoTopology = "placement does not look at the network yet";
constexpr std::string_view kHard = "a job's memory limit is what was granted to it";
constexpr std::string_view kConstrained =
    "agents confine jobs with every cgroup controller that their node allows, and no other way";

constexpr Entry<C> cgroup(std::string_view key,
                          std::string_view why,
                          Entry<C>::Setter set = nullptr,
                          std::string_view fine = "") {
    return {key, Effect::NoEffect, why, fine, {}, set, nullptr};
}

constexpr auto kCgroupTable = std::to_array<Entry<C>>({
    cgroup("AllowedDevicesFile", "gone from current Slurm"),
    cgroup("AllowedKmemSpace", kKernelMemory),
    cgroup("AllowedRAMSpace", kHard, set_number<&C::allowed_ram_percent, 0, 10'000>, "100"),
    cgroup("AllowedSwapSpace", kHard, set_number<&C::allowed_swap_percent, 0, 10'000>, "0"),
    cgroup("CgroupAutomount", kAtOnce),
    cgroup("CgroupMountpoint", kAtOnce, set_text<&C::mount_point>, "/sys/fs/cgroup"),
    cgroup("CgroupPlugin", kAtOnce, set_text<&C::plugin>, "autodetect"),
    cgroup("CgroupReleaseAgentDir", "gone from current Slurm"),
    cgroup("CgroupSlice", kAtOnce),
    cgroup("ConstrainCores", kConstrained, set_yes_no<&C::constrain_cores>, "yes"),
    cgroup("ConstrainDevices", kConstrained, set_yes_no<&C::constrain_devices>),
    cgroup("ConstrainKmemSpace", kKernelMemory, nullptr, "no"),
    cgroup("ConstrainRAMSpace", kConstrained, set_yes_no<&C::constrain_ram>, "yes"),
    cgroup("ConstrainSwapSpace", kHard, set_yes_no<&C::constrain_swap>, "no"),
    cgroup("EnableControllers", kAtOnce),
    cgroup("EnableExtraControllers", kAtOnce),
    cgroup("IgnoreSystemd", kAtOnce),
    cgroup("IgnoreSystemdOnFailure", kAtOnce),
    cgroup("MaxKmemPercent", kKernelMemory),
    cgroup("MaxRAMPercent", kHard, nullptr, "100"),
    cgroup("MaxSwapPercent", kHard, nullptr, "100"),
    cgroup("MemorySwappiness", kHard),
    cgroup("MinKmemSpace", kKernelMemory),
    cgroup("MinRAMSpace", kHard, nullptr, "30"),
    cgroup("SignalChildrenProcesses", kAtOnce),
    cgroup("SystemdTimeout", kAtOnce),
});

constexpr Entry<S> topology(std::string_view key, Entry<S>::Setter set) {
    return {key, Effect::Honoured, {}, {}, {}, set, nullptr};
}

constexpr auto kTopologyTable = std::to_array<Entry<S>>({
    topology("BlockName", set_text<&S::block_name>),
    topology("BlockSizes", nullptr),
    topology("LinkSpeed", nullptr),
    topology("Nodes", set_text<&S::nodes_text>),
    topology("SwitchName", set_text<&S::name>),
    topology("Switches", set_text<&S::switches_text>),
});

}  // namespace

std::span<const Entry<CgroupConf>> cgroup_table() {
    return kCgroupTable;
}

std::span<const Entry<SwitchLine>> topology_table() {
    return kTopologyTable;
}

CgroupConf read_cgroup_conf(std::string_view text,
                            const std::string& name,
                            const FileLoader& loader,
                            Findings& findings) {
    CgroupConf conf;
    for (const ConfLine& at : read_lines(text, name, loader, findings)) {
        for (const Pair& pair : at.pairs) {
            apply_pair(cgroup_table(), "cgroup.conf keyword", at, pair, conf, findings);
        }
    }
    return conf;
}

TopologyConf read_topology_conf(std::string_view text,
                                const std::string& name,
                                const FileLoader& loader,
                                Findings& findings) {
    TopologyConf conf;
    HostNames hosts(findings);
    for (const ConfLine& at : read_lines(text, name, loader, findings)) {
        SwitchLine line;
        line.file = at.file;
        line.line = at.line;
        for (const Pair& pair : at.pairs) {
            apply_pair(topology_table(), "topology.conf keyword", at, pair, line, findings);
        }
        line.is_block = !line.block_name.empty();
        if (line.is_block) line.name = line.block_name;
        hosts.expand(at, "Switches", line.switches_text, line.switches);
        hosts.expand(at, "Nodes", line.nodes_text, line.nodes);
        if (!line.name.empty()) conf.switches.push_back(std::move(line));
    }
    if (!conf.switches.empty()) {
        findings.add({name, 0, Severity::NoEffect, std::string(kNoTopology)});
    }
    return conf;
}

}  // namespace twinyard::config
