#pragma once

#include <algorithm>

#include "base/time.h"
#include "os/boot_clock.h"

namespace twinyard::controller {

/// Cluster time: never goes back, advances with the boot clock. After a restart it goes on from
/// what was stored; where the wall clock says that more has passed meanwhile, from there. One
/// thread makes it, any may read it.
class RunningClock {
  public:
    explicit RunningClock(ClusterTime stored)
        : start_(std::max(stored, ClusterTime(os::wall_now().time_since_epoch()))),
          boot_start_(os::boot_now()) {}

    [[nodiscard]] ClusterTime now() const { return start_ + (os::boot_now() - boot_start_); }
    [[nodiscard]] static WallTime wall() { return os::wall_now(); }

  private:
    ClusterTime start_;
    Millis boot_start_;
};

}  // namespace twinyard::controller
