#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/launch.h"
#include "model/task_group.h"
#include "model/workload_state.h"

namespace twinyard::model {

enum class Door : std::uint8_t { Slurm, Kubernetes };

/// How the state of a workload follows from its members.
enum class EndRule : std::uint8_t {
    Together,      ///< Its first member's end ends all (a batch job).
    EachOnItsOwn,  ///< Done when each is done (Pods).
    ByPolicy,      ///< A policy of the door decides.
};

/// A request, as durable as it gets: replaced whole when the user updates it (the generation
/// rises), never edited.
struct WorkloadSpec {
    Door door = Door::Slurm;
    std::string name;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::string queue;  ///< Who is charged: a queue of the tree.
    std::string qos;
    std::vector<std::string> partitions;  ///< Alternatives in order; never empty once admitted.
    std::vector<TaskGroup> groups;
    std::uint32_t min_members = 1;  ///< Of the whole, beside each group's own minimum.
    EndRule end_rule = EndRule::Together;
    std::optional<Millis>
        time_limit;  ///< None: the partition's default, else its maximum, else no end.
    std::optional<Millis> time_min;  ///< May be started with less, down to this.
    std::optional<WallTime> begin;
    std::int32_t nice = 0;
    std::optional<std::uint32_t> priority;  ///< Fixed by an administrator; 0 holds.
    bool requeue_allowed = true;
    bool reboot = false;
    std::string comment;
    std::vector<std::pair<std::string, std::string>> labels;
    LaunchSpec launch;
    /// Emulated nodes: how long it lasts there and how it ends; none: its time limit (an hour at
    /// most), exit 0.
    std::optional<Millis> emulated_runtime;
    std::int32_t emulated_exit = 0;
    friend bool operator==(const WorkloadSpec&, const WorkloadSpec&) = default;
};

/// How a workload, a member or a step ended.
struct Outcome {
    EndKind kind = EndKind::None;
    std::int32_t exit_code = 0;
    std::int32_t signal = 0;
    std::uint32_t by_uid = 0;  ///< Cancelled: by whom.
    std::string
        detail;  ///< Free text for people: why it could not be launched, which node was lost.
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// What one node gives to the members of one group. Devices and cpus by their index on the node.
struct NodeGrant {
    NodeId node;
    std::uint32_t group = 0;
    std::uint32_t first_member = 0;
    std::uint32_t member_count = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::vector<std::uint16_t> cpus;     ///< Exclusive hardware threads; empty: the shared pool.
    std::vector<std::uint16_t> devices;  ///< Whole devices. (Shares follow with the deep engine.)
    friend bool operator==(const NodeGrant&, const NodeGrant&) = default;
};

/// One record for the gang.
struct Placement {
    std::string partition;
    std::vector<NodeGrant> grants;
    friend bool operator==(const Placement&, const Placement&) = default;
};

/// The members of one grant move together: state of grant i of the placement.
struct MemberRun {
    MemberState state = MemberState::Placed;
    std::string address;  ///< Of its step daemon, once ready.
    Outcome outcome;
    friend bool operator==(const MemberRun&, const MemberRun&) = default;
};

/// A grant of an attempt that is over, on a node that was lost before it confirmed that nothing is
/// left. Still held in the ledger, so that nothing is given twice: until the agent is back and
/// confirms, or an administrator says that the node is down.
struct FencedGrant {
    Attempt attempt = 0;
    NodeGrant grant;
    friend bool operator==(const FencedGrant&, const FencedGrant&) = default;
};

enum class Hold : std::uint8_t { None, User, Admin, RequeueLimit, LaunchFailed };

/// What changes while a workload lives. Small; one durable record.
struct WorkloadStatus {
    WorkloadState state = WorkloadState::Pending;
    Generation generation = 1;
    Attempt attempt = 0;  ///< Of the current or last launch; 0: never launched.
    std::uint32_t restarts = 0;
    std::uint32_t launch_failures = 0;  ///< In a row; for back-off.
    Hold hold = Hold::None;
    bool requeue_at_end = false;  ///< Completing: goes back to Pending instead of Done.
    ClusterTime submitted{}, eligible{}, started{}, ended{};
    WallTime submitted_wall{}, eligible_wall{}, started_wall{}, ended_wall{};
    ClusterTime suspended_since{};
    Millis suspended_total{0};
    ClusterTime not_before{};     ///< Back-off after a failed launch.
    ClusterTime end_asked{};      ///< When its end was ordered (cancel, limit).
    Outcome outcome;              ///< Completing: what it will be. Done: what it was.
    std::vector<MemberRun> runs;  ///< As many as the placement has grants.
    std::vector<FencedGrant> fenced;
    friend bool operator==(const WorkloadStatus&, const WorkloadStatus&) = default;
};

/// The record as state, snapshots and changes hold it. Immutable once shared: a change makes a new
/// one, and the parts that did not change are shared by old and new (owners: state, every snapshot
/// that still holds the old record).
struct Workload {
    WorkloadId id;
    JobId job;  ///< 0 for workloads of the other door.
    Revision revision = 0;
    std::shared_ptr<const WorkloadSpec> spec;
    std::shared_ptr<const Placement>
        placement;  ///< Null while pending; kept after the end for listings.
    WorkloadStatus status;
};
using WorkloadPtr = std::shared_ptr<const Workload>;

/// The limit that holds for it: its own, else what `fallback` says; none = no end.
[[nodiscard]] inline std::optional<Millis> limit_of(const WorkloadSpec& spec,
                                                    std::optional<Millis> fallback) {
    return spec.time_limit ? spec.time_limit : fallback;
}

/// True for everything that holds resources in the ledger.
[[nodiscard]] constexpr bool holds_resources(WorkloadState state) {
    return state == WorkloadState::Starting || state == WorkloadState::Running ||
           state == WorkloadState::Suspended || state == WorkloadState::Completing;
}

}  // namespace twinyard::model
