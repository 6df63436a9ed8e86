#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace twinyard::agent {

/// Replaces a file (mode 0600), not durably: for what is of no use after a crash of the machine.
[[nodiscard]] Status write_plain_file(const std::string& path, std::string_view content);

}  // namespace twinyard::agent
