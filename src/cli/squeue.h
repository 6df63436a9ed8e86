#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/listing.h"

namespace twinyard::cli {

/// What squeue's options and variables said.
struct SqueueOptions {
    std::vector<std::string> jobs, users, partitions, names, accounts, qos, states;
    std::string nodes;                   ///< -w, a host list.
    std::optional<FormatChoice> format;  ///< -o or -O.
    std::optional<std::string> sort;
    bool me = false, not_me = false;
    bool long_list = false, start = false, state_only = false;
    bool no_header = false, no_convert = false;
};

}  // namespace twinyard::cli
