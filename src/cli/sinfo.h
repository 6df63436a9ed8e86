#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/listing.h"

namespace twinyard::cli {

/// What sinfo's options and variables said.
struct SinfoOptions {
    std::vector<std::string> partitions, states;
    std::string nodes;                   ///< -n, a host list.
    std::optional<FormatChoice> format;  ///< -o or -O.
    std::optional<std::string> sort;
    bool all = false, dead = false, responding = false, exact = false;
    bool by_node = false, summary = false, long_list = false, reasons = false;
    bool no_header = false;
};

}  // namespace twinyard::cli
