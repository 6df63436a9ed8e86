#pragma once

namespace twinyard {

/// Prints where and what to stderr and aborts. A failed CHECK is a bug of ours, never the outside
/// world.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

/// Always on, in every build.
#define CHECK(condition)                   \
    (static_cast<bool>(condition) ? void() \
                                  : ::twinyard::check_failed(__FILE__, __LINE__, #condition))

}  // namespace twinyard
