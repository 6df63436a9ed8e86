#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/slurm_conf.h"

namespace twinyard::config::testing {

/// The configuration lines that the mission's document prints, byte for byte.
inline constexpr std::string_view kSeedConf =
    "NodeName=node[001-064] NodeAddr=10.0.0.[1-64] RealMemory=1024000 Gres=gpu:h100:8 "
    "State=UNKNOWN\n"
    "PartitionName=train Nodes=node[001-064] Default=NO MaxTime=7-00:00:00 QOS=train Priority=10\n"
    "PartitionName=debug Nodes=node[001-008] Default=YES MaxTime=01:00:00 QOS=debug "
    "Priority=100\n"
    "PartitionName=inference Nodes=node[001-064] MaxTime=UNLIMITED QOS=inference Priority=5\n";

/// Files in memory; what is not among them is NotFound.
inline FileLoader loader_of(std::map<std::string, std::string> files) {
    return [files = std::move(files)](const std::string& path) -> Result<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) return fail(ErrorCode::NotFound, "no such file");
        return found->second;
    };
}

inline Reading read_text(std::string_view text) {
    return read(text, "slurm.conf", loader_of({}));
}

/// The findings of one severity, a line each.
inline std::string texts(const Findings& findings, Severity severity) {
    std::string out;
    for (const Finding& finding : findings.all()) {
        if (finding.severity == severity) out += to_string(finding) + "\n";
    }
    return out;
}

}  // namespace twinyard::config::testing
