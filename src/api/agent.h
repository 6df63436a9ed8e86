#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/launch.h"
#include "model/node.h"
#include "model/workload.h"

/// What controller and agent say to each other (DESIGN.md §3, "Contract between controller and
/// agent"). One connection may carry many nodes (emulated ones). Level-triggered: orders say what
/// should be, reports what is; both are repeated in full after any loss.
namespace twinyard::api {

/// Names one launch on one node for good. `member` is the first member of the grant.
struct LaunchKey {
    model::WorkloadId workload;
    model::Attempt attempt = 0;
    std::uint32_t group = 0;
    std::uint32_t member = 0;
    friend auto operator<=>(const LaunchKey&, const LaunchKey&) = default;
};

struct NodeHello {
    std::string name;
    model::NodeCapacity capacity;
    model::NodeFacts facts;
    bool emulated = false;
    bool journal_lost =
        false;  ///< Its memory of launches is gone: what it does not report did not survive.
    model::Term highest_term = 0;
    friend bool operator==(const NodeHello&, const NodeHello&) = default;
};

/// First message of an agent's order stream.
struct AgentHello {
    std::string cluster_id;  ///< Empty before the first welcome; then the agent keeps it and
                             ///< refuses another.
    std::string address;     ///< Where the agent listens.
    std::vector<NodeHello> nodes;
    friend bool operator==(const AgentHello&, const AgentHello&) = default;
};

/// Why a run should end; the step daemon's message to the user and the outcome depend on it.
enum class StopReason : std::uint8_t {
    None,
    Cancelled,
    TimeLimit,
    Preempted,
    GangEnded,
    NodeDown,
    LaunchFailed,
    Shutdown
};

enum class Stage : std::uint8_t {
    Prepare,  ///< Step daemon up, prolog done, then report Ready. Nothing of the user's runs yet.
    Go,       ///< The gang is complete: run.
    Stop,     ///< End it: CONT, TERM, KILL after kill_wait; report Ended when nothing is left.
};

/// Facts about the whole placement that every node's step daemon needs.
struct GangFacts {
    std::vector<std::string> nodes;      ///< Names, in order of the grants.
    std::vector<std::uint32_t> members;  ///< Members on each.
    std::vector<std::uint32_t> cpus;     ///< Hardware threads on each.
    std::vector<std::string> addresses;  ///< Of the step daemons; filled at Go.
    std::vector<std::uint32_t> devices;  ///< Whole devices on each.
    friend bool operator==(const GangFacts&, const GangFacts&) = default;
};

/// Everything a node needs to run its part. Scripts and environments are fetched by hash.
struct LaunchOrder {
    LaunchKey key;
    model::JobId job;
    std::string name, queue, qos, partition, cluster;
    std::uint32_t uid = 0, gid = 0;
    std::uint32_t restarts = 0;
    std::uint32_t grant_index = 0;  ///< Which of the gang's nodes this is; 0 runs the batch script.
    model::NodeGrant grant;
    std::vector<std::string> device_class_paths;  ///< Of grant.devices, in the same order.
    GangFacts gang;
    model::LaunchSpec launch;
    std::optional<Millis> time_limit;  ///< From Go.
    WallTime started_wall{};
    std::optional<Millis> emulated_runtime;
    std::int32_t emulated_exit = 0;
    std::string
        secret;  ///< The job's grant: authorises its processes towards the gang's step daemons.
    friend bool operator==(const LaunchOrder&, const LaunchOrder&) = default;
};

/// What should be of one launch. An absent launch is never an order to kill.
struct DesiredRun {
    Stage stage = Stage::Prepare;
    StopReason reason = StopReason::None;
    std::uint32_t by_uid = 0;
    Millis kill_wait{30'000};
    LaunchOrder launch;  ///< In Stop only the key counts.
    friend bool operator==(const DesiredRun&, const DesiredRun&) = default;
};

enum class SignalScope : std::uint8_t { Steps, BatchShell, All };

/// Fire and forget, not part of the desired state.
struct SignalOrder {
    LaunchKey key;
    std::int32_t signal = 0;
    SignalScope scope = SignalScope::Steps;
    friend bool operator==(const SignalOrder&, const SignalOrder&) = default;
};

/// Orders for one node.
struct NodeOrders {
    model::NodeId node;
    std::string name;
    bool full = false;  ///< `runs` is the whole desired state; launches that are not in it are
                        ///< orphans: keep, report.
    std::uint64_t digest =
        0;  ///< Of the desired state after these orders (desired_digest); a mismatch asks for full.
    std::vector<DesiredRun> runs;
    std::vector<LaunchKey> forget;  ///< Their end is durable: the journal may drop them.
    std::vector<SignalOrder> signals;
    friend bool operator==(const NodeOrders&, const NodeOrders&) = default;
};

/// One part of the order stream. The first one answers the hello.
struct AgentOrders {
    std::string cluster_id;
    model::Term term = 0;
    Millis heartbeat{5'000};
    std::vector<NodeOrders> nodes;
    std::vector<std::string> refused;  ///< Names of nodes that may not join, each "name: why".
    friend bool operator==(const AgentOrders&, const AgentOrders&) = default;
};

struct Usage {
    Millis cpu_user{0}, cpu_system{0};
    std::int64_t memory_peak_bytes = 0;
    friend bool operator==(const Usage&, const Usage&) = default;
};

enum class Phase : std::uint8_t { Preparing, Ready, Running, Ending, Ended };

/// What is of one launch.
struct ObservedRun {
    LaunchKey key;
    Phase phase = Phase::Preparing;
    std::string address;     ///< Of its step daemon, from Ready on.
    model::Outcome outcome;  ///< Ended.
    WallTime started_wall{}, ended_wall{};
    Usage usage;
    bool has_batch = false;  ///< This run carried the batch script; outcome is the script's.
    friend bool operator==(const ObservedRun&, const ObservedRun&) = default;
};

/// A finished (or running) step, as its job's inner ledger recorded it.
struct StepRecord {
    LaunchKey key;  ///< Of the grant that holds the inner ledger.
    std::uint32_t step = 0;
    std::string name;
    std::vector<std::string> nodes;
    std::uint32_t tasks = 0;
    std::uint32_t cpus = 0;
    WallTime started_wall{}, ended_wall{};
    model::Outcome outcome;
    Usage usage;
    friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

struct NodeReport {
    std::string name;
    bool full = false;         ///< `runs` is all that this agent knows.
    std::uint64_t digest = 0;  ///< Of the desired state as the agent holds it.
    std::vector<ObservedRun> runs;
    std::vector<StepRecord> steps;  ///< Repeated until acknowledged.
    friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

/// Agent to controller; its answer (empty) comes when what it said is durable. An empty one is a
/// heartbeat.
struct AgentReport {
    model::Term term = 0;
    std::vector<NodeReport> nodes;
    friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

/// Order-independent digest of a desired state: the sum over runs of a hash of key, stage and time
/// limit.
[[nodiscard]] std::uint64_t desired_digest(const DesiredRun& run);

}  // namespace twinyard::api
