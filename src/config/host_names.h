#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/conf_text.h"
#include "config/finding.h"

namespace twinyard::config {

/// Host names that all lists of a file may stand for together: a short text could ask for any
/// amount of memory.
inline constexpr std::size_t kNamesMax = 4'000'000;

/// Expands host lists of one file within kNamesMax; what is wrong becomes a finding at the line.
class HostNames {
  public:
    explicit HostNames(Findings& findings) : findings_(findings) {}

    /// False: the list is malformed or too long, `names` is left as it is. `what` goes before the
    /// message.
    bool expand(const ConfLine& at,
                std::string_view what,
                std::string_view text,
                std::vector<std::string>& names);

    /// Counts names that were copied from another list. False, with a finding, when there are too
    /// many.
    bool spend(const ConfLine& at, std::size_t names);

  private:
    Findings& findings_;
    std::size_t left_ = kNamesMax;
};

}  // namespace twinyard::config
