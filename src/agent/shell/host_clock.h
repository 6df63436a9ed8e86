#pragma once

#include "agent/core/events.h"
#include "os/boot_clock.h"

namespace twinyard::agent {

[[nodiscard]] inline Now host_now() {
    return {.boot = os::boot_now(), .wall = os::wall_now()};
}

}  // namespace twinyard::agent
