#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace twinyard::up {

/// Waits until the controller answers and all of `nodes` have an agent. Unavailable when `timeout`
/// is over; says which lack.
[[nodiscard]] Status wait_until_ready(const std::string& dir,
                                      const std::vector<std::string>& nodes,
                                      Millis timeout);

/// Ends all running work and waits for it: nothing starts any more, jobs get their signals, and go
/// back to the queue where they may. Returns how many were told. `timeout` counts from the last job
/// that ended.
[[nodiscard]] Result<std::uint32_t> end_all_jobs(const std::string& dir, Millis timeout);

}  // namespace twinyard::up
