#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "controller/core/core.h"

namespace twinyard::controller {

/// What is derived or remembered of one node beside its record. Lost with the process; rebuilt by
/// load and by the agent's next hello.
struct NodeRuntime {
    std::uint64_t session = 0;            ///< 0: no agent is connected.
    std::optional<api::NodeHello> found;  ///< The last hello.
    std::set<model::WorkloadId> work;     ///< Those with a launch here that is not over.
    std::uint32_t references = 0;         ///< Grants of kept placements, over or not.
    std::set<api::LaunchKey> to_confirm;  ///< Had begun when the agent joined; its full reports
                                          ///< must name them.
    std::set<api::LaunchKey> strays;      ///< Run here though they are over: told to stop.
    std::set<api::LaunchKey> orphans;     ///< Run here and are not in our records: kept.
    std::optional<std::uint64_t> digest;  ///< Of the desired state; none: to be computed.
    std::uint64_t digest_at_report = 0;   ///< What ours was at the agent's report before.
};

/// Blobs by content: how many specs name it, and whether a side write is under way.
struct BlobUse {
    std::uint32_t references = 0;
    std::uint32_t pins = 0;
    bool stored = false;
};

// ---- work that is done a slice at a time, in order of arrival. Derived again after a crash: from
// the records, or because its sender repeats it until it is acknowledged.

/// Brings the nodes in line with the configuration: those declared, then those no longer declared.
struct ConfigureWork {
    std::size_t next_declared = 0;
    model::NodeId last_kept;
};
struct JoinWork {
    std::uint64_t session = 0;
    api::AgentHello hello;
    std::size_t next_node = 0;
};
struct LeaveWork {
    std::vector<model::NodeId> nodes;
    std::size_t next = 0;
};
struct ReportWork {
    std::uint64_t session = 0;
    api::AgentReport report;
    std::uint64_t number = 0;
    std::size_t node = 0, run = 0, step = 0;
    bool all_heard = true;  ///< No node of it belonged to another session.
};
/// Why all work of a node ends.
enum class NodeEnd : std::uint8_t {
    Lost,  ///< What runs there cannot be known; its grants stay fenced.
    Down,  ///< Stopped there by its agent.
    Over,  ///< Nothing runs there any more: an administrator says so, or the agent's journal is
           ///< gone.
};
struct NodeEndWork {
    model::NodeId node;
    NodeEnd end = NodeEnd::Lost;
};
struct RecordedWork {
    std::vector<std::uint64_t> seqs;
    std::size_t next = 0;
};
using Work =
    std::variant<ConfigureWork, JoinWork, LeaveWork, ReportWork, NodeEndWork, RecordedWork>;

/// All that the core knows. `view` is the state itself, in the form that readers get.
struct Core::State {
    Settings settings;
    model::Snapshot view;
    api::Counters counters;
    std::map<std::uint64_t, api::AccountingRecord> outbox;
    std::map<api::RequestId, api::PutRequest> requests;

    // Derived.
    std::map<ContentHash, BlobUse> blobs;
    std::set<ContentHash> unreferenced;  ///< To be dropped by a Tick, if still so.
    std::map<model::WorkloadId, std::uint32_t> outbox_rows;
    std::set<std::pair<ClusterTime, api::RequestId>> request_ages;
    std::map<model::NodeId, NodeRuntime> nodes;
    std::map<std::string, model::NodeId, std::less<>> node_names;
    std::map<std::uint64_t, std::set<model::NodeId>> sessions;
    std::set<model::NodeId> unconfigured;
    std::map<std::string, std::size_t, std::less<>> declared;  ///< Place in the configuration.
    /// When something about a workload is due: a back-off ends, a limit has passed, it may leave.
    std::set<std::pair<ClusterTime, model::WorkloadId>> timers;
    std::map<model::WorkloadId, ClusterTime> timer_of;
    std::set<std::pair<WallTime, model::WorkloadId>> begins;  ///< Pending, not yet eligible.
    std::deque<Work> backlog;
    bool backlog_busy = false;  ///< A slice is at work: what it enqueues waits behind it.
};

}  // namespace twinyard::controller
