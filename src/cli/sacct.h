#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/listing.h"
#include "slurm/sacct_format.h"

namespace twinyard::cli {

/// What sacct's options said. Field lists add up, as in Slurm.
struct SacctOptions {
    std::vector<std::string> jobs, users, accounts, partitions, names, qos, states, clusters;
    std::string fields;
    std::optional<std::string> start, end;
    slurm::SacctStyle style = slurm::SacctStyle::Table;
    std::string delimiter = "|";
    char units = 0;
    bool no_convert = false, no_header = false, help_format = false;
    bool allocations = false, all_users = false, duplicates = false;
};

}  // namespace twinyard::cli
