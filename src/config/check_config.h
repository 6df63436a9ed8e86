#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/finding.h"

namespace twinyard::config {

/// What there is to say about a slurm.conf and the files beside it.
struct Report {
    std::string file;
    std::vector<Finding> findings;  ///< By file and line; those about a whole file come first.
    std::size_t nodes = 0;
    std::size_t partitions = 0;
    std::size_t honoured = 0;  ///< Parameters that the file gives and that have their effect.
    bool usable = false;       ///< No error and nothing refused.
};

/// Reads the file and all that it includes; with a twinyard.yaml beside it, that too. Starts
/// nothing.
[[nodiscard]] Report check(const std::string& path);

/// For people: a line a finding, by severity, then a summary. Ends with a line break.
[[nodiscard]] std::string render(const Report& report);

}  // namespace twinyard::config
