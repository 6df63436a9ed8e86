#include "os/boot_clock.h"

#include <time.h>

namespace twinyard::os {

namespace {

Millis read_clock(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return Millis(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

}  // namespace

Millis boot_now() {
    return read_clock(CLOCK_BOOTTIME);
}

WallTime wall_now() {
    return WallTime(read_clock(CLOCK_REALTIME));
}

}  // namespace twinyard::os
