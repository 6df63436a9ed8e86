#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/task_group.h"
#include "sched/index.h"

namespace twinyard::sched {

inline constexpr std::uint32_t kNobody = 0xffffffff;
/// Most device columns that one grant may draw from.
inline constexpr std::size_t kColumnsPerGrantMax = 4;

/// So many devices of one column.
struct ColumnCount {
    std::uint16_t column = 0;
    std::int32_t count = 0;
    friend bool operator==(const ColumnCount&, const ColumnCount&) = default;
};

/// What a grant holds of its node, in amounts.
struct Take {
    std::int64_t cpu_milli = 0;
    std::int64_t memory = 0;
    std::array<ColumnCount, kColumnsPerGrantMax> devices{};
    std::uint32_t columns = 0;  ///< How many of `devices` are used.
    model::Share share = model::Share::Any;
    std::uint32_t uid = kNobody;

    /// False: more columns than a grant may draw from.
    bool add_devices(std::uint16_t column, std::int32_t count);
    [[nodiscard]] std::span<const ColumnCount> device_counts() const {
        return {devices.data(), columns};
    }
    friend bool operator==(const Take&, const Take&) = default;
};

/// Who and how much is on one node; amounts may be negative.
struct NodeRoom {
    std::int64_t cpu_milli = 0;
    std::int64_t memory = 0;
    std::int32_t occupants = 0;
    std::int32_t whole = 0;      ///< Grants that exclude all others.
    std::int32_t same_user = 0;  ///< Grants that exclude other users.
    std::uint32_t uid =
        kNobody;  ///< Whose all grants are; kNobody: several users' (or none there).
    friend bool operator==(const NodeRoom&, const NodeRoom&) = default;
};

/// Free capacity of all nodes at one time, real or supposed. A copy is a few flat arrays.
class Room {
  public:
    /// What is free in the index.
    [[nodiscard]] static Room now(const Index& index);
    /// As if nothing ran.
    [[nodiscard]] static Room idle(const Index& index);

    void take(NodeIndex at, const Take& take);
    /// Undoes a take. Whose node it is comes out right only once it is empty: until then a mixed
    /// node stays mixed.
    void give_back(NodeIndex at, const Take& take);

    [[nodiscard]] const NodeRoom& node(NodeIndex at) const { return nodes_[at]; }
    [[nodiscard]] std::span<const std::int32_t> devices(NodeIndex at) const {
        return {devices_.data() + std::size_t{at} * columns_, columns_};
    }
    [[nodiscard]] std::size_t columns() const { return columns_; }
    /// Nodes with at least `count` (1…) free devices of a column; null: none.
    [[nodiscard]] const NodeSet* at_least(std::size_t column, std::int64_t count) const;
    [[nodiscard]] std::int64_t levels(std::size_t column) const {
        return static_cast<std::int64_t>(at_least_[column].size());
    }

    /// One node's part, to put it back later.
    struct Saved {
        NodeIndex at = 0;
        NodeRoom node;
        std::vector<std::int32_t> devices;
    };
    [[nodiscard]] Saved save(NodeIndex at) const;
    void restore(const Saved& saved);
    /// Books a grant on a part that was put aside.
    static void take(Saved& saved, const Take& take);
    /// The node offers at most what is in `ceiling`, and whoever is there is there too.
    void cap(const Saved& ceiling);

  private:
    Room(std::size_t nodes, std::size_t columns)
        : nodes_(nodes), columns_(columns), devices_(nodes * columns), at_least_(columns) {}
    void set_devices(NodeIndex at, std::size_t column, std::int32_t count);
    void set_up_levels(const Index& index);

    std::vector<NodeRoom> nodes_;
    std::size_t columns_ = 0;
    std::vector<std::int32_t> devices_;  ///< Node by node, a count a column.
    std::vector<std::vector<NodeSet>> at_least_;
};

/// The amounts of a grant that is held on the node at `at`.
[[nodiscard]] Take take_of(const Index& index,
                           NodeIndex at,
                           const model::NodeGrant& grant,
                           const model::WorkloadSpec& spec);

}  // namespace twinyard::sched
