#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/workload.h"
#include "sched/room.h"

namespace twinyard::sched {

/// Devices asked under one class path, and the columns that can serve it.
struct DeviceNeed {
    std::string class_path;
    std::vector<std::uint16_t> columns;
    std::int64_t per_member = 0, per_node = 0, total = 0;
};

/// One group of a request, resolved against the index's tables.
struct GroupNeed {
    const model::TaskGroup* group = nullptr;
    std::uint32_t number = 0;  ///< Its place in the spec.
    bool exclusive_cpus = true;
    model::Share share = model::Share::Any;
    model::TakeAll take_all;
    std::int64_t cpu_milli_max = 0;   ///< On each node; 0: no such limit.
    bool ignore_memory = false;       ///< Memory is not given out at this site.
    std::vector<DeviceNeed> devices;  ///< Most specific first.
    std::vector<NodeSet> allowed;     ///< One, or one for each alternative of all nodes together.
    std::vector<NodeIndex> include;
};

/// What a workload needs in one partition. Refers to the spec it was made from.
struct Request {
    std::vector<GroupNeed> groups;
    std::uint32_t uid = kNobody;
    std::uint32_t min_members = 1;
    std::string unsupported;  ///< Not empty: asks for this, which cannot be placed yet.
};

/// `partition`: index in config().partitions.
[[nodiscard]] Request resolve(const Index& index,
                              const model::WorkloadSpec& spec,
                              std::uint32_t partition);

/// What one group gets of one node.
struct NodePart {
    NodeIndex node = 0;
    std::uint32_t group = 0;
    std::uint32_t members = 0;
    Take take;
    friend bool operator==(const NodePart&, const NodePart&) = default;
};
using Gang = std::vector<NodePart>;  ///< By group, then node.

/// The best fit for the whole request on the nodes of `usable`, or an empty gang: all groups or
/// none. The fewest nodes where their number is free, as many as fit up to a stated maximum; among
/// equals those that are fullest already, so that whole nodes stay whole for wide jobs. Leaves
/// `room` as it was.
[[nodiscard]] Gang place(const Index& index,
                         const Request& request,
                         const NodeSet& usable,
                         Room& room);

/// Nodes that could serve at least one member (or a part) of the first group now.
[[nodiscard]] std::uint32_t count_fitting_nodes(const Index& index,
                                                const Request& request,
                                                const NodeSet& usable,
                                                const Room& room);

/// Chooses so many devices of the columns from the free ones (bit set by device index): from the
/// NUMA node that they fit best, lowest first. CHECKs that they are there.
[[nodiscard]] std::vector<std::uint16_t> choose_devices(const Index& index,
                                                        NodeIndex at,
                                                        std::uint64_t free,
                                                        const Take& take);

}  // namespace twinyard::sched
