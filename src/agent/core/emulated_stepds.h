#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "agent/core/events.h"

namespace twinyard::agent {

/// No emulated run without a length of its own lasts longer.
inline constexpr Millis kEmulatedRuntimeMax{3'600'000};

/// The step daemons of emulated nodes: ready at once, running when told to go, over after the
/// length that the order names; stopped at once. The part of a gang that carries the script ends by
/// itself, the others when they are told to, as with real ones. Pure; one thread.
class EmulatedStepds {
  public:
    /// Takes an effect that is meant for step daemons (StartStepd, AdoptStepd, TellStepd,
    /// SignalStepd, ForgetLocal); others are none of its business. What follows from it is
    /// appended.
    void perform(const Effect& effect, Now now, std::vector<Event>& events);
    /// Ends what is due.
    void advance(Now now, std::vector<Event>& events);
    /// When advance() is due.
    [[nodiscard]] std::optional<Millis> next_due() const;
    [[nodiscard]] std::size_t running() const { return runs_.size(); }

  private:
    using Name = std::pair<NodeIndex, api::LaunchKey>;

    struct Run {
        api::LaunchOrder order;
        api::ObservedRun seen;
        Millis began{0};
        std::optional<Millis> due;
        bool due_is_limit = false;
    };

    void start(const StartStepd& effect, std::vector<Event>& events);
    void tell(const TellStepd& effect, Now now, std::vector<Event>& events);
    void signal(const SignalStepd& effect, Now now, std::vector<Event>& events);
    void schedule(const Name& name, Run& run);
    void end(const Name& name, model::Outcome outcome, Now now, std::vector<Event>& events);

    std::map<Name, Run> runs_;
    std::set<std::tuple<Millis, NodeIndex, api::LaunchKey>> due_;
};

}  // namespace twinyard::agent
