#pragma once

#include <string>
#include <vector>

#include "controller/core/core.h"

namespace twinyard::controller {

/// Everything that must hold after every command; empty if all does. Slow and obvious: for tests
/// and the simulator.
[[nodiscard]] std::vector<std::string> check_invariants(const Core& core);

/// The same core, made again from `stored`, has the same state. Empty if so.
[[nodiscard]] std::string reload_difference(const Core& core,
                                            const Settings& settings,
                                            const Records& stored,
                                            const api::Envelope& now);

}  // namespace twinyard::controller
