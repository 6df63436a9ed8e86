#pragma once

#include "base/time.h"

namespace twinyard::os {

/// Milliseconds since the machine was booted, suspend included (CLOCK_BOOTTIME): never goes back,
/// the same for every process of the host, and starts anew at a reboot. Any thread.
[[nodiscard]] Millis boot_now();

/// The calendar now. Any thread.
[[nodiscard]] WallTime wall_now();

}  // namespace twinyard::os
