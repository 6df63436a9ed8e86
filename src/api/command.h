#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/accounting.h"
#include "api/agent.h"
#include "api/principal.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "model/plan.h"
#include "model/snapshot.h"

/// What the core takes and gives. The core calls nobody: time and identity come in with the
/// envelope; replies, changes, records and effects go out as values.
namespace twinyard::api {

using RequestId = std::array<std::uint8_t, 16>;

struct Envelope {
    ClusterTime time{};
    WallTime wall{};
    Principal principal;
};

struct Blob {
    ContentHash hash;
    std::string bytes;
};

// ---- commands of users
// -------------------------------------------------------------------------------------------

/// The shell has translated and checked the spec against a snapshot. Answer: Submitted.
struct Submit {
    RequestId request_id{};  ///< Remembered for 10 minutes, durable with the job; all zero: not
                             ///< remembered.
    std::shared_ptr<const model::WorkloadSpec> spec;
    std::vector<Blob> blobs;  ///< Those not stored by a side write before.
    model::Hold hold = model::Hold::None;
};

/// At most kCommandTargetsMax targets; the shell slices what is more. Answer: Affected.
struct Cancel {
    std::vector<model::WorkloadId> targets;
    model::EndKind kind = model::EndKind::Cancelled;  ///< Or Preempted, NodeFailed …
    bool requeue_if_allowed =
        false;  ///< Shutdown: goes back to the queue instead, where its spec allows.
};
struct Signal {
    std::vector<model::WorkloadId> targets;
    std::int32_t signal = 0;
    SignalScope scope = SignalScope::Steps;
};
/// Absent: stays.
struct Update {
    model::WorkloadId target;
    std::optional<std::optional<Millis>> time_limit;
    std::optional<std::string> name, queue, qos, comment;
    std::optional<std::vector<std::string>> partitions;
    std::optional<std::uint32_t> priority;
    std::optional<std::int32_t> nice;
    std::optional<std::optional<WallTime>> begin;
    std::optional<bool> requeue_allowed;
    std::optional<std::vector<model::TaskGroup>> groups;
};
struct SetHold {
    std::vector<model::WorkloadId> targets;
    model::Hold hold = model::Hold::None;
};
struct Requeue {
    std::vector<model::WorkloadId> targets;
    model::Hold then = model::Hold::None;
};
enum class NodeAction : std::uint8_t { Drain, Undrain, Down, Resume };
struct UpdateNode {
    std::vector<std::string> names;
    std::optional<NodeAction> action;
    std::optional<std::string> reason;
    std::optional<std::uint32_t> weight;
    std::optional<std::vector<std::string>> features;
};

// ---- commands of the machinery
// -----------------------------------------------------------------------------------

struct Configure {
    model::ClusterConfigPtr config;
};
/// An agent's stream has opened; answered by full orders for each node. Sessions are numbered by
/// the shell.
struct AgentJoined {
    std::uint64_t session = 0;
    AgentHello hello;
};
struct AgentReported {
    std::uint64_t session = 0;
    AgentReport report;
    std::uint64_t number = 0;  ///< The shell's own; comes back with the acknowledgement.
};
struct AgentLeft {
    std::uint64_t session = 0;
};
/// The shell judges silence by when io received.
struct NodeLinkChanged {
    model::NodeId node;
    model::NodeLink link = model::NodeLink::Silent;
};
struct ApplyPlan {
    std::vector<model::PlannedStart> starts;
};
/// Time passes: limits that agents missed, begin times, records old enough to go.
struct Tick {};
/// These outbox rows are in the history; they and what waited for them may go.
struct Recorded {
    std::vector<std::uint64_t> outbox_seqs;
};

using Command = std::variant<Submit,
                             Cancel,
                             Signal,
                             Update,
                             SetHold,
                             Requeue,
                             UpdateNode,
                             Configure,
                             AgentJoined,
                             AgentReported,
                             AgentLeft,
                             NodeLinkChanged,
                             ApplyPlan,
                             Tick,
                             Recorded>;

inline constexpr std::size_t kCommandTargetsMax = 16;

// ---- what comes out
// ----------------------------------------------------------------------------------------------

struct Submitted {
    model::WorkloadId workload;
    model::JobId job;
    bool repeated = false;  ///< The request id was known: this is the first answer again.
};
/// One entry a target, in order; a failure of one does not stop the others.
struct Affected {
    std::vector<Status> results;
};
struct PlanApplied {
    std::uint32_t started = 0;
    std::vector<model::WorkloadId> refused;
};
struct Done {};
using Reply = std::variant<Done, Submitted, Affected, PlanApplied>;

/// Durable records, one store operation each (a placement or spec may be large, but below the
/// store's limits).
struct PutSpec {
    model::WorkloadId id;
    std::shared_ptr<const model::WorkloadSpec> spec;
};
struct PutStatus {
    model::WorkloadPtr
        workload;  ///< Its ids, revision and status; spec and placement have records of their own.
};
struct PutPlacement {
    model::WorkloadId id;
    std::shared_ptr<const model::Placement> placement;  ///< Null: the record goes.
};
struct DropWorkload {
    model::WorkloadId id;  ///< Spec, status and placement.
};
struct PutNode {
    model::NodePtr node;
};
struct DropNode {
    model::NodeId id;
};
struct PutBlob {
    ContentHash hash;
    std::string bytes;
};
struct DropBlob {
    ContentHash hash;
};
struct PutOutbox {
    AccountingRecord record;
};
struct DropOutbox {
    std::uint64_t seq = 0;
};
struct PutRequest {
    RequestId id{};
    model::WorkloadId workload;
    model::JobId job;
    ClusterTime at{};
};
struct DropRequest {
    RequestId id{};
};
/// Counters that must not go back even when the records that used them are gone.
struct Counters {
    std::uint64_t next_workload = 1;
    std::uint32_t next_job = 1;
    std::uint32_t next_node = 1;
    std::uint64_t next_outbox = 1;
    std::uint64_t revision = 0;
    ClusterTime time{};  ///< Cluster time goes on from here after a restart.
    std::string cluster_id;
    friend bool operator==(const Counters&, const Counters&) = default;
};
struct PutCounters {
    Counters counters;
};
using Mutation = std::variant<PutSpec,
                              PutStatus,
                              PutPlacement,
                              DropWorkload,
                              PutNode,
                              DropNode,
                              PutBlob,
                              DropBlob,
                              PutOutbox,
                              DropOutbox,
                              PutRequest,
                              DropRequest,
                              PutCounters>;

/// Performed only after the batch is durable; lost with a crash and derived again from the records.
struct SendOrders {
    std::uint64_t session = 0;
    NodeOrders orders;
};
struct RefuseNode {
    std::uint64_t session = 0;
    std::string text;  ///< "name: why"
};
/// All of this report is in the records: it may be acknowledged. (One that was not heard in full
/// never is.)
struct AckReport {
    std::uint64_t session = 0;
    std::uint64_t number = 0;
};
using Effect = std::variant<SendOrders, RefuseNode, AckReport>;

/// The result of one command. `reply` is an error if it was refused; then nothing changed.
struct Applied {
    Result<Reply> reply;
    std::vector<Mutation> mutations;
    std::vector<model::Change> changes;  ///< The same for snapshot and engine.
    std::vector<Effect> effects;
};

}  // namespace twinyard::api
