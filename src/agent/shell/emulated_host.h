#pragma once

#include <memory>
#include <vector>

#include "agent/core/emulated_stepds.h"
#include "agent/shell/stepd_port.h"
#include "rpc/loop.h"

namespace twinyard::agent {

/// EmulatedStepds on a loop and the host's clocks.
class EmulatedHost final : public StepdPort {
  public:
    EmulatedHost(rpc::Loop& loop, OnEvent on_event);
    ~EmulatedHost() override { *alive_ = false; }
    void perform(const Effect& effect) override;

  private:
    void hand_on();
    void arm();

    rpc::Loop& loop_;
    OnEvent on_event_;
    EmulatedStepds stepds_;
    std::vector<Event> events_;
    bool posted_ = false;
    rpc::Timer timer_;
    Millis armed_for_{0};
    std::shared_ptr<bool>
        alive_;  // Shared with a post in flight, which does nothing after our end.
};

}  // namespace twinyard::agent
