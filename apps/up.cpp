#include <string_view>

#include "up/verbs.h"

/// twinyard-up, twinyard-down and twinyard-status: one program, by its name.
int main(int argc, char** argv) {
    const std::string_view name(argv[0]);
    const std::span<const char* const> args(argv + 1, static_cast<std::size_t>(argc - 1));
    if (name.ends_with("-down")) return twinyard::up::run_down(args);
    if (name.ends_with("-status")) return twinyard::up::run_status(args);
    return twinyard::up::run_up(args);
}
