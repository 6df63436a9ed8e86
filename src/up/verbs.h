#pragma once

#include <span>

namespace twinyard::up {

/// `twinyard up`, `down` and `status`: print to stdout and stderr, return the exit code. `args`
/// without the verb.
int run_up(std::span<const char* const> args);
int run_down(std::span<const char* const> args);
int run_status(std::span<const char* const> args);

}  // namespace twinyard::up
