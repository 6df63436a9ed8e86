#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "api/agent.h"
#include "base/time.h"

/// What comes into the agent's core and what it wants done. Nodes are named by their place in
/// Settings::nodes.
namespace twinyard::agent {

using NodeIndex = std::uint32_t;

/// Both clocks of the moment: `boot` for intervals, `wall` for records.
struct Now {
    Millis boot{0};
    WallTime wall{};
};

// The journal. An entry is a fact; replaying all in order gives the state back.

/// A controller took us in: from now on a missing journal is a loss.
struct Welcomed {
    std::string cluster_id;
    model::Term term = 0;
    friend bool operator==(const Welcomed&, const Welcomed&) = default;
};
/// It will be started: written before the fork.
struct Launched {
    api::LaunchOrder order;
    friend bool operator==(const Launched&, const Launched&) = default;
};
/// Its step daemon.
struct Started {
    api::LaunchKey key;
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;
    friend bool operator==(const Started&, const Started&) = default;
};
/// The exit record, also of what was never started.
struct Ended {
    api::ObservedRun run;
    friend bool operator==(const Ended&, const Ended&) = default;
};
struct Forgotten {
    api::LaunchKey key;
    friend bool operator==(const Forgotten&, const Forgotten&) = default;
};
/// This launch was ordered once and is forgotten.
struct HighWater {
    api::LaunchKey key;
    friend bool operator==(const HighWater&, const HighWater&) = default;
};
struct JournalEntry {
    NodeIndex node = 0;
    std::variant<Welcomed, Launched, Started, Ended, Forgotten, HighWater> fact;
    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// Events.

/// First of all, once: what the journal holds.
struct JournalLoaded {
    std::vector<JournalEntry> entries;
};
struct ConnectionUp {};
struct ConnectionDown {};
struct OrdersReceived {
    api::AgentOrders orders;
};
/// What the report said is durable at the controller.
struct ReportAcked {
    std::uint64_t seq = 0;
};
/// It was refused or its answer will not come; it is said again.
struct ReportFailed {
    std::uint64_t seq = 0;
};
struct StepdStarted {
    NodeIndex node = 0;
    api::LaunchKey key;
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;
};
/// It can be told something; what it was told before may be lost.
struct StepdConnected {
    NodeIndex node = 0;
    api::LaunchKey key;
};
/// What a step daemon said of its launch, or its exit record.
struct StepdObserved {
    NodeIndex node = 0;
    api::ObservedRun run;
};
/// It did not start, or vanished without an exit record; nothing of the launch is left.
struct StepdGone {
    NodeIndex node = 0;
    api::LaunchKey key;
    bool never_started = false;  ///< Certainly nothing of the user's ran.
    std::string detail;
};
struct StepSeen {
    NodeIndex node = 0;
    api::StepRecord record;
};
using Event = std::variant<JournalLoaded,
                           ConnectionUp,
                           ConnectionDown,
                           OrdersReceived,
                           ReportAcked,
                           ReportFailed,
                           StepdStarted,
                           StepdConnected,
                           StepdObserved,
                           StepdGone,
                           StepSeen>;

// Effects, to be performed in order. Everything after an AppendJournal with `durable` waits until
// it is on disk; appends of one answer come first, so that one sync serves all.

struct AppendJournal {
    JournalEntry entry;
    bool durable = true;  ///< False: it may be lost in a crash.
};
/// Opens the order stream with this.
struct SendHello {
    api::AgentHello hello;
};
/// `seq` 0 is a heartbeat, whose answer does not matter; else ReportAcked or ReportFailed follows.
struct SendReport {
    std::uint64_t seq = 0;
    api::AgentReport report;
};
struct StartStepd {
    NodeIndex node = 0;
    api::LaunchOrder order;
};
/// After a restart: find out what became of it. `pid` 0: it may not even have been started.
struct AdoptStepd {
    NodeIndex node = 0;
    api::LaunchOrder order;
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;
};
/// Dropped when there is no connection to it: StepdConnected brings it again.
struct TellStepd {
    NodeIndex node = 0;
    api::DesiredRun run;
};
struct SignalStepd {
    NodeIndex node = 0;
    api::SignalOrder order;
};
/// Its files may go.
struct ForgetLocal {
    NodeIndex node = 0;
    api::LaunchKey key;
};
/// The peer is no controller of ours (any more), or refused all our nodes: connect again later.
struct DropConnection {
    std::string why;
};
/// For the log.
struct Notice {
    std::string text;
};
using Effect = std::variant<AppendJournal,
                            SendHello,
                            SendReport,
                            StartStepd,
                            AdoptStepd,
                            TellStepd,
                            SignalStepd,
                            ForgetLocal,
                            DropConnection,
                            Notice>;

}  // namespace twinyard::agent
