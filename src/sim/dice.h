#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace twinyard::sim {

/// All chance of a run, from its seed: the same numbers on every machine.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}

    /// 0 … n-1; n > 0.
    std::uint64_t below(std::uint64_t n) {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return (z ^ (z >> 31)) % n;
    }
    /// True in so many of a thousand cases.
    bool per_mille(std::uint32_t chance) { return chance > 0 && below(1000) < chance; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    /// Both ends included.
    Millis between(Millis low, Millis high) {
        const auto span = static_cast<std::uint64_t>((high - low).count());
        return low + Millis{static_cast<std::int64_t>(below(span + 1))};
    }

  private:
    std::uint64_t state_;
};

}  // namespace twinyard::sim
