#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::os {

/// The kernel's list form of cpu or memory node numbers: "0-3,8,10-11". `numbers` ascending.
[[nodiscard]] std::string format_cpu_list(std::span<const int> numbers);

/// The other way round; ascending, without doubles. InvalidArgument for anything else or a number
/// over 65535.
[[nodiscard]] Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace twinyard::os
