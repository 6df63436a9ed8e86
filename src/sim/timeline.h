#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"

namespace twinyard::sim {

/// Names who an event belongs to: an incarnation of a process. What it still had to do ends with
/// it. 0: the world itself.
using Owner = std::uint64_t;

/// The virtual clock and everything that is still to happen, in order of time, then of planning.
class Timeline {
  public:
    [[nodiscard]] Millis now() const { return now_; }
    [[nodiscard]] Owner new_owner() { return ++owners_; }

    void in(Millis delay, Owner owner, std::function<void()> what) {
        events_.emplace(std::pair{now_ + delay, ++planned_}, Event{owner, std::move(what)});
    }
    /// None of its events happens any more.
    void end(Owner owner) { ended_.insert(owner); }
    [[nodiscard]] bool has_ended(Owner owner) const { return ended_.contains(owner); }

    /// Lets the next event happen. False: there is none.
    bool step() {
        if (events_.empty()) return false;
        auto first = events_.extract(events_.begin());
        now_ = first.key().first;
        const Event& event = first.mapped();
        if (!has_ended(event.owner)) event.what();
        return true;
    }

  private:
    struct Event {
        Owner owner = 0;
        std::function<void()> what;
    };
    Millis now_{0};
    Owner owners_ = 0;
    std::uint64_t planned_ = 0;
    std::map<std::pair<Millis, std::uint64_t>, Event> events_;
    std::set<Owner> ended_;
};

}  // namespace twinyard::sim
