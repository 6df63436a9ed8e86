#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "accounting/memory/memory_accounting.h"
#include "api/agent.h"
#include "base/hash.h"
#include "sim/dice.h"
#include "sim/durable.h"
#include "sim/scenario.h"
#include "sim/timeline.h"
#include "store/memory/memory_store.h"

namespace twinyard::sim {

/// What happened, as text: a hash over all of it, and the last lines for people.
class Trace {
  public:
    void note(Millis at, std::string_view what);
    [[nodiscard]] std::uint64_t hash() const { return hash_.value(); }
    [[nodiscard]] std::uint64_t lines() const { return lines_; }
    [[nodiscard]] const std::deque<std::string>& tail() const { return tail_; }

  private:
    Fnv64 hash_;
    std::uint64_t lines_ = 0;
    std::deque<std::string> tail_;
};

/// What all parts of one simulated cluster share: chance, time, what is durable, what was seen.
struct World {
    explicit World(std::uint64_t seed) : dice(seed) {}

    Dice dice;
    Timeline timeline;
    Trace trace;
    Faults faults;
    Millis wall_offset{0};
    store::MemoryDisk disk;
    accounting::MemoryAccounting history;
    DurableView durable{disk};
    std::string failure;  ///< The first thing that must not be; empty: nothing yet.

    void note(std::string_view what) { trace.note(timeline.now(), what); }
    void fail(std::string what);
    [[nodiscard]] bool failed() const { return !failure.empty(); }
    [[nodiscard]] WallTime wall() const {
        return WallTime{Seconds{1'700'000'000}} + timeline.now() + wall_offset;
    }
    /// A time around `mean`, at least a thousandth of it.
    [[nodiscard]] Millis around(Millis mean) {
        return dice.between(mean / 5 + Millis{1}, mean * 9 / 5);
    }
};

[[nodiscard]] std::string text_of(const api::LaunchKey& key);

}  // namespace twinyard::sim
