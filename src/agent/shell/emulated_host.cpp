#include "agent/shell/emulated_host.h"

#include <algorithm>
#include <utility>

#include "agent/shell/host_clock.h"

namespace twinyard::agent {

EmulatedHost::EmulatedHost(rpc::Loop& loop, OnEvent on_event)
    : loop_(loop), on_event_(std::move(on_event)), alive_(std::make_shared<bool>(true)) {}

void EmulatedHost::perform(const Effect& effect) {
    stepds_.perform(effect, host_now(), events_);
    if (posted_) return;
    posted_ = true;
    loop_.post([this, alive = alive_] {
        if (*alive) hand_on();
    });
}

/// All that follows from a bunch of effects at once: their news leave in few reports.
void EmulatedHost::hand_on() {
    posted_ = false;
    for (Event& event : std::exchange(events_, {}))
        on_event_(std::move(event));
    arm();
}

void EmulatedHost::arm() {
    const std::optional<Millis> due = stepds_.next_due();
    if (!due || (timer_.active() && armed_for_ <= *due)) return;
    armed_for_ = *due;
    const Millis delay = std::max(*due - host_now().boot, Millis{0});
    timer_ = loop_.after(delay, [this] {
        stepds_.advance(host_now(), events_);
        hand_on();
    });
}

}  // namespace twinyard::agent
