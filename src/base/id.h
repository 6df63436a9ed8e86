#pragma once

#include <compare>
#include <cstdint>

namespace twinyard {

/// A number that names one kind of thing. Zero (the default) means "none". Ordered, so that ties
/// break by id.
template <class Tag, class Rep>
class Id {
  public:
    using rep = Rep;

    constexpr Id() = default;
    constexpr explicit Id(Rep value) : value_(value) {}

    [[nodiscard]] constexpr Rep value() const { return value_; }
    [[nodiscard]] constexpr explicit operator bool() const { return value_ != 0; }

    friend constexpr auto operator<=>(const Id&, const Id&) = default;

  private:
    Rep value_ = 0;
};

}  // namespace twinyard
