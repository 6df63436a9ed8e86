#pragma once

#include <functional>

#include "agent/core/events.h"

namespace twinyard::agent {

/// Told what comes back from step daemons; never from inside perform(). Loop's thread.
using OnEvent = std::function<void(Event)>;

/// Where the effects that are meant for step daemons go: real ones (StepdHost) or played ones
/// (EmulatedHost). Loop's thread.
class StepdPort {
  public:
    virtual ~StepdPort() = default;
    /// StartStepd, AdoptStepd, TellStepd, SignalStepd, ForgetLocal.
    virtual void perform(const Effect& effect) = 0;
};

}  // namespace twinyard::agent
