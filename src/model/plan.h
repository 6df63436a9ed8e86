#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace twinyard::model {

/// What the plan wants of one node for one group. Cpu numbers are chosen by the ledger when it is
/// accepted.
struct PlannedGrant {
    NodeId node;
    std::uint32_t group = 0;
    std::uint32_t first_member = 0;
    std::uint32_t member_count = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::vector<std::uint16_t> devices;
    friend bool operator==(const PlannedGrant&, const PlannedGrant&) = default;
};

/// Stands alone: the whole gang or nothing.
struct PlannedStart {
    WorkloadId workload;
    Generation generation = 0;
    std::string partition;
    std::vector<PlannedGrant> grants;
    friend bool operator==(const PlannedStart&, const PlannedStart&) = default;
};

/// Why something waits. The doors have their own words for each.
enum class Wait : std::uint8_t {
    None,
    Resources,       ///< It is next (or has a reserved start) and what it needs is in use.
    Priority,        ///< Others stand before it.
    NeverFits,       ///< No node, or not enough nodes, of the partition could ever give it.
    PartitionNodes,  ///< Asks for more nodes than the partition allows (or has).
    PartitionTime,   ///< Its time limit is beyond the partition's.
    PartitionDown,
    PartitionInactive,
    NodesUnavailable,  ///< Would fit if nodes were not down, drained or silent.
    Held,
    HeldByAdmin,
    BeginTime,
    BackOff,         ///< After a failed launch.
    EndlessHolders,  ///< What it needs is held by work without an end, so no start can be told.
    Unsupported,     ///< Asks for something that this engine cannot place yet.
    Dependency,
};

/// How much of one thing is asked, free now, and there at all (in the partition, on nodes that may
/// be used).
struct Shortage {
    std::string what;  ///< "gpu/h100", "cpu", "memory", "nodes"
    std::int64_t need = 0, free = 0, total = 0;
    friend bool operator==(const Shortage&, const Shortage&) = default;
};

/// The answer to "why does it wait": one a shape, found in the pass.
struct Verdict {
    Wait wait = Wait::None;
    std::vector<Shortage> shortages;  ///< The binding ones first.
    std::vector<std::string> nodes;   ///< Which nodes it waits for or cannot use, a few.
    std::uint32_t ahead = 0;          ///< How many stand before it in its partition.
    WorkloadId first_ahead;
    std::string text;  ///< One sentence for people, with the numbers.
    friend bool operator==(const Verdict&, const Verdict&) = default;
};
using VerdictPtr = std::shared_ptr<const Verdict>;

/// A start that lower ones may not delay.
struct ReservedStart {
    WorkloadId workload;
    ClusterTime start{};
    std::vector<NodeId> nodes;
    friend bool operator==(const ReservedStart&, const ReservedStart&) = default;
};

/// What one pass decided. Verdicts are derived, published beside the snapshot, never stored.
struct Plan {
    Revision based_on = 0;
    std::vector<PlannedStart> starts;
    std::vector<ReservedStart> reserved;
    /// One verdict a shape; equal ones are shared. Those that are missing were not looked at.
    std::map<WorkloadId, VerdictPtr> verdicts;
    std::uint64_t tested = 0;  ///< Work done, for diagnosis.
};

/// When pending work is expected to start, by a replay of the queue. Computed off the pass, for the
/// first ones in order.
struct Forecast {
    Revision based_on = 0;
    ClusterTime at{};
    std::map<WorkloadId, std::optional<ClusterTime>>
        starts;  ///< None: no start can be told, e.g. never.
    std::map<WorkloadId, std::vector<NodeId>> nodes;
};

}  // namespace twinyard::model
