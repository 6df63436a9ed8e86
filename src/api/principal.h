#pragma once

#include <cstdint>

namespace twinyard::api {

/// Who asks, as the shell has established it (peer credentials, certificate). Numeric: names are
/// for people.
struct Principal {
    std::uint32_t uid = 0xfffffffe;
    std::uint32_t gid = 0xfffffffe;
    bool is_admin = false;  ///< root, or the user that runs the controller.
    friend bool operator==(const Principal&, const Principal&) = default;
};

}  // namespace twinyard::api
