#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace twinyard {

/// One flag of a daemon or verb of ours: `--name VALUE`, `--name=VALUE`, or (with `given`) `--name`
/// alone.
struct Flag {
    std::string_view name;  ///< With its dashes.
    std::string* value = nullptr;
    bool* given = nullptr;  ///< Instead of a value.
};

/// Fills in what is named; InvalidArgument names an unknown flag (with the one that was perhaps
/// meant), a missing value, or a word that is no flag. `args` without the program's name.
[[nodiscard]] Status parse_flags(std::span<const char* const> args,
                                 std::initializer_list<Flag> flags);

}  // namespace twinyard
