#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/core/events.h"
#include "agent/core/node_core.h"

namespace twinyard::agent {

/// Reports under way at a time, each about other nodes.
inline constexpr std::size_t kReportsMax = 4;
/// About as much goes into one report; one node's part is never split.
inline constexpr std::size_t kReportBytesMax = std::size_t{512} << 10;
/// Every node says its digest once in so many heartbeats; a single one with each.
inline constexpr std::size_t kDigestRounds = 60;
/// Waits before a report that failed is said again, and before we call where all our nodes were
/// refused.
inline constexpr Millis kReportRetry{250};
inline constexpr Millis kRefusedRetry{10'000};
/// An answer that did not come by then will not come.
inline constexpr Millis kReportPatience{60'000};

struct Settings {
    std::string address;                ///< Where this agent can be reached.
    std::vector<api::NodeHello> nodes;  ///< Of one connection; name, capacity, facts, emulated.
    /// False: nothing is appended, and each start says that the journal is lost (emulated nodes).
    bool keeps_journal = true;
    /// Workloads remembered by a node after all of their launches there are forgotten.
    std::size_t forgotten_max = 16'384;
};

/// A node daemon's decisions: one connection, the nodes on it, one journal. Pure and deterministic;
/// one thread.
///
/// The caller hands in JournalLoaded first, then events as they come, and performs the effects in
/// order. After each event, or a bunch of them, and at next_wakeup() it calls flush(), which says
/// what is to be said. No event costs more than what it names, a connection's start apart.
class AgentCore {
  public:
    explicit AgentCore(Settings settings);

    [[nodiscard]] std::vector<Effect> handle(const Event& event, Now now);
    /// Reports and heartbeats that are due.
    [[nodiscard]] std::vector<Effect> flush(Now now);
    /// When flush() is due without another event. None: nothing waits for time.
    [[nodiscard]] std::optional<Millis> next_wakeup() const;

    /// What to compact the journal to.
    [[nodiscard]] std::vector<JournalEntry> journal() const;

    [[nodiscard]] model::Term term() const { return term_; }
    [[nodiscard]] const std::string& cluster_id() const { return cluster_id_; }
    [[nodiscard]] const std::vector<NodeCore>& nodes() const { return nodes_; }

  private:
    struct UnderWay {
        std::vector<NodeIndex> nodes;
        Millis since{0};
    };

    void on(const JournalLoaded& event, Now now, std::vector<Effect>& out);
    void on(const ConnectionUp& event, Now now, std::vector<Effect>& out);
    void on(const ConnectionDown& event, Now now, std::vector<Effect>& out);
    void on(const OrdersReceived& event, Now now, std::vector<Effect>& out);
    void on(const ReportAcked& event, Now now, std::vector<Effect>& out);
    void on(const ReportFailed& event, Now now, std::vector<Effect>& out);
    void on(const StepdStarted& event, Now now, std::vector<Effect>& out);
    void on(const StepdConnected& event, Now now, std::vector<Effect>& out);
    void on(const StepdObserved& event, Now now, std::vector<Effect>& out);
    void on(const StepdGone& event, Now now, std::vector<Effect>& out);
    void on(const StepSeen& event, Now now, std::vector<Effect>& out);

    [[nodiscard]] std::string why_refused(const api::AgentOrders& orders) const;
    void welcome(const api::AgentOrders& orders, std::vector<Effect>& out);
    void note_refused(const api::AgentOrders& orders, Now now, std::vector<Effect>& out);
    void fail_report(std::uint64_t seq, Now now);
    void look_at(NodeIndex node);
    void beat(Now now);
    void send_reports(Now now, std::vector<Effect>& out);
    [[nodiscard]] api::AgentReport take_report(std::vector<NodeIndex>& nodes);

    Settings settings_;
    std::vector<NodeCore> nodes_;
    std::map<std::string, NodeIndex, std::less<>> index_;
    std::string cluster_id_;
    model::Term term_ = 0;

    bool connected_ = false;
    bool welcomed_ = false;  ///< On this connection.
    Millis heartbeat_{5'000};
    Millis next_beat_{0};
    std::optional<Millis> refused_until_;
    std::optional<Millis> hold_reports_until_;
    std::uint64_t seq_ = 0;
    std::map<std::uint64_t, UnderWay> under_way_;
    std::deque<NodeIndex> talkers_;  ///< Nodes with news, each once.
    std::vector<bool> talks_;
    std::set<NodeIndex> unsettled_;
    std::size_t digest_turn_ = 0;
};

}  // namespace twinyard::agent
