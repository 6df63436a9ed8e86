#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/place.h"

namespace twinyard::sched {

/// Parts of a group's totals that one node gives or could give: of each DeviceNeed in order, then
/// cpu (milli), then memory.
using Parts = std::vector<std::int64_t>;

/// One group against the nodes of a room: how much of it fits on a node, and what it then takes.
class Fitting {
  public:
    Fitting(const Index& index, const GroupNeed& need, std::uint32_t uid, const Room& room)
        : index_(index), need_(need), uid_(uid), room_(room) {}

    /// May it be there at all, and do `members` members fit, without any part of the totals?
    [[nodiscard]] bool fits(NodeIndex at, std::uint32_t members) const;
    /// Most members that fit, up to `most`; 0: not one.
    [[nodiscard]] std::uint32_t most_members(NodeIndex at, std::uint32_t most) const;
    /// How much of each total the node could give beside so many members.
    [[nodiscard]] Parts parts_left(NodeIndex at, std::uint32_t members) const;
    /// What it takes there. None: it draws from more classes of devices than a grant may.
    [[nodiscard]] std::optional<Take> take(NodeIndex at,
                                           std::uint32_t members,
                                           const Parts& parts) const;
    /// Cpus of one node's core, in thousandths: what exclusive grants are multiples of.
    [[nodiscard]] std::int64_t core_milli(NodeIndex at) const;

  private:
    [[nodiscard]] bool open(NodeIndex at) const;
    [[nodiscard]] bool all_is_free(NodeIndex at) const;
    [[nodiscard]] std::int64_t free_cpu_milli(NodeIndex at) const;
    [[nodiscard]] std::int64_t cpu_milli(std::uint32_t members) const;
    [[nodiscard]] std::int64_t memory(std::uint32_t members) const;
    [[nodiscard]] bool devices_fit(NodeIndex at, std::uint32_t members) const;
    /// Takes the group's devices out of `counts`; false if they are not there.
    [[nodiscard]] bool draw(std::vector<std::int32_t>& counts,
                            std::uint32_t members,
                            const Parts* parts,
                            Take* take) const;

    const Index& index_;
    const GroupNeed& need_;
    std::uint32_t uid_;
    const Room& room_;
};

}  // namespace twinyard::sched
