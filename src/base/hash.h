#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace twinyard {

/// 128-bit content hash of a blob. Collision-resistant enough for content addressing of one
/// cluster's own users: it is the first half of SHA-256.
struct ContentHash {
    std::array<std::uint8_t, 16> bytes{};
    friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
    [[nodiscard]] bool empty() const { return *this == ContentHash{}; }
};

[[nodiscard]] ContentHash content_hash(std::string_view data);
[[nodiscard]] std::string to_hex(const ContentHash& hash);

/// 64-bit FNV-1a, for digests and traces: fast, stable across builds, not for untrusted keys.
class Fnv64 {
  public:
    constexpr Fnv64& add(std::string_view data) {
        for (const char c : data)
            step(static_cast<std::uint8_t>(c));
        return *this;
    }
    constexpr Fnv64& add(std::uint64_t value) {
        for (int i = 0; i < 8; ++i)
            step(static_cast<std::uint8_t>(value >> (8 * i)));
        return *this;
    }
    [[nodiscard]] constexpr std::uint64_t value() const { return state_; }

  private:
    constexpr void step(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace twinyard
