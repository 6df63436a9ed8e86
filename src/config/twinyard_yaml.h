#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/finding.h"

namespace twinyard::config {

struct QosEntry {
    std::string name;
    std::uint32_t priority = 0;
    std::vector<std::string>
        preempt;  ///< Names of the QOS that it may preempt; nothing is preempted yet.
    friend bool operator==(const QosEntry&, const QosEntry&) = default;
};

/// twinyard.yaml: what slurm.conf has no word for. All of it may be absent.
struct TwinyardYaml {
    std::vector<QosEntry> qos;
    /// A preset of weights: research, enterprise, throughput; empty: what slurm.conf says.
    std::string policy;
};

/// Reads the text; unknown keys and wrong values become findings. Line numbers are those of the
/// text.
[[nodiscard]] TwinyardYaml read_twinyard_yaml(std::string_view text,
                                              const std::string& name,
                                              Findings& findings);

/// The same for a file; InvalidArgument names the first error. A file that does not exist is
/// NotFound.
[[nodiscard]] Result<TwinyardYaml> load_twinyard_yaml(const std::string& path);

}  // namespace twinyard::config
