// The agent's side of the conversation with the controller. handle() in order: the journal, then
// the connection (hello, welcome), orders handed to their nodes, what step daemons say. flush()
// says what the nodes have to say, several in one report, and beats. What becomes of a launch is in
// node_core.cpp.
#include "agent/core/agent_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace twinyard::agent {
namespace {

/// As long as it will be on the wire, roughly, and rather too much.
std::size_t bytes_of(const api::NodeReport& report) {
    std::size_t bytes = 64 + report.name.size();
    for (const api::ObservedRun& run : report.runs)
        bytes += 96 + run.address.size() + run.outcome.detail.size();
    for (const api::StepRecord& step : report.steps) {
        bytes += 128 + step.name.size() + step.outcome.detail.size();
        for (const std::string& node : step.nodes)
            bytes += 2 + node.size();
    }
    return bytes;
}

bool is_append(const Effect& effect) {
    return std::holds_alternative<AppendJournal>(effect);
}

}  // namespace

AgentCore::AgentCore(Settings settings) : settings_(std::move(settings)) {
    nodes_.reserve(settings_.nodes.size());
    for (const api::NodeHello& hello : settings_.nodes) {
        const auto index = static_cast<NodeIndex>(nodes_.size());
        nodes_.emplace_back(index, hello.name, settings_.forgotten_max);
        CHECK(index_.emplace(hello.name, index).second);
    }
    talks_.resize(nodes_.size());
}

std::vector<Effect> AgentCore::handle(const Event& event, Now now) {
    std::vector<Effect> out;
    std::visit([&](const auto& what) { on(what, now, out); }, event);
    if (!settings_.keeps_journal) {
        std::erase_if(out, is_append);
        return out;
    }
    // All facts first, in their order: one sync, and nothing is done before all of them are safe.
    std::ranges::stable_partition(out, is_append);
    return out;
}

void AgentCore::on(const JournalLoaded& event, Now, std::vector<Effect>& out) {
    for (const JournalEntry& entry : event.entries) {
        if (const auto* welcomed = std::get_if<Welcomed>(&entry.fact)) {
            cluster_id_ = welcomed->cluster_id;
            term_ = welcomed->term;
        } else if (entry.node < nodes_.size()) {
            nodes_[entry.node].replay(entry);
        }
    }
    for (const NodeCore& node : nodes_)
        node.adopt(out);
    for (NodeIndex node = 0; node < nodes_.size(); ++node)
        look_at(node);
}

std::vector<JournalEntry> AgentCore::journal() const {
    std::vector<JournalEntry> entries;
    if (!cluster_id_.empty()) entries.push_back({0, Welcomed{cluster_id_, term_}});
    for (const NodeCore& node : nodes_)
        node.write_journal(entries);
    return entries;
}

void AgentCore::on(const ConnectionUp&, Now now, std::vector<Effect>& out) {
    connected_ = true;
    welcomed_ = false;
    refused_until_.reset();
    hold_reports_until_.reset();
    under_way_.clear();
    next_beat_ = now.boot + heartbeat_;
    for (NodeCore& node : nodes_)
        node.on_connection();
    api::AgentHello hello{
        .cluster_id = cluster_id_, .address = settings_.address, .nodes = settings_.nodes};
    for (api::NodeHello& node : hello.nodes) {
        // Who was never welcomed has no memory that anybody could count on.
        node.journal_lost = cluster_id_.empty();
        node.highest_term = term_;
    }
    out.emplace_back(SendHello{std::move(hello)});
}

void AgentCore::on(const ConnectionDown&, Now, std::vector<Effect>&) {
    connected_ = false;
    welcomed_ = false;
    under_way_.clear();
}

std::string AgentCore::why_refused(const api::AgentOrders& orders) const {
    if (!cluster_id_.empty() && orders.cluster_id != cluster_id_)
        return "the controller belongs to another cluster";
    if (orders.term < term_) return "the controller was replaced by a newer one";
    return {};
}

/// The term is durable before anything that was ordered under it is done.
void AgentCore::welcome(const api::AgentOrders& orders, std::vector<Effect>& out) {
    welcomed_ = true;
    heartbeat_ = std::max(orders.heartbeat, Millis{1});
    if (orders.cluster_id == cluster_id_ && orders.term == term_) return;
    cluster_id_ = orders.cluster_id;
    term_ = orders.term;
    out.emplace_back(AppendJournal{{0, Welcomed{cluster_id_, term_}}, true});
}

void AgentCore::note_refused(const api::AgentOrders& orders, Now now, std::vector<Effect>& out) {
    for (const std::string& text : orders.refused)
        out.emplace_back(Notice{"the controller refused " + text});
    if (orders.refused.size() >= nodes_.size() && orders.nodes.empty())
        refused_until_ = now.boot + kRefusedRetry;
}

void AgentCore::on(const OrdersReceived& event, Now now, std::vector<Effect>& out) {
    const api::AgentOrders& orders = event.orders;
    if (!connected_) return;
    if (std::string why = why_refused(orders); !why.empty()) {
        connected_ = false;
        out.emplace_back(DropConnection{std::move(why)});
        return;
    }
    welcome(orders, out);
    note_refused(orders, now, out);
    for (const api::NodeOrders& part : orders.nodes) {
        const auto found = index_.find(part.name);
        if (found == index_.end()) continue;
        nodes_[found->second].on_orders(part, now, out);
        look_at(found->second);
    }
}

void AgentCore::on(const ReportAcked& event, Now, std::vector<Effect>&) {
    const auto found = under_way_.find(event.seq);
    if (found == under_way_.end()) return;
    const std::vector<NodeIndex> nodes = std::move(found->second.nodes);
    under_way_.erase(found);
    for (const NodeIndex node : nodes) {
        nodes_[node].on_acked();
        look_at(node);
    }
}

void AgentCore::on(const ReportFailed& event, Now now, std::vector<Effect>&) {
    fail_report(event.seq, now);
}

void AgentCore::fail_report(std::uint64_t seq, Now now) {
    const auto found = under_way_.find(seq);
    if (found == under_way_.end()) return;
    const std::vector<NodeIndex> nodes = std::move(found->second.nodes);
    under_way_.erase(found);
    hold_reports_until_ = now.boot + kReportRetry;
    for (const NodeIndex node : nodes) {
        nodes_[node].on_failed();
        look_at(node);
    }
}

void AgentCore::on(const StepdStarted& event, Now, std::vector<Effect>& out) {
    nodes_.at(event.node).on_started(event, out);
}

void AgentCore::on(const StepdConnected& event, Now, std::vector<Effect>& out) {
    nodes_.at(event.node).on_connected(event.key, out);
}

void AgentCore::on(const StepdObserved& event, Now, std::vector<Effect>& out) {
    nodes_.at(event.node).on_observed(event.run, out);
    look_at(event.node);
}

void AgentCore::on(const StepdGone& event, Now now, std::vector<Effect>& out) {
    nodes_.at(event.node).on_gone(event, now, out);
    look_at(event.node);
}

void AgentCore::on(const StepSeen& event, Now, std::vector<Effect>&) {
    nodes_.at(event.node).on_step(event.record);
    look_at(event.node);
}

/// Keeps track of which nodes have something to say and which must repeat themselves.
void AgentCore::look_at(NodeIndex node) {
    if (nodes_[node].unsettled())
        unsettled_.insert(node);
    else
        unsettled_.erase(node);
    if (talks_[node] || !nodes_[node].has_news()) return;
    talks_[node] = true;
    talkers_.push_back(node);
}

std::optional<Millis> AgentCore::next_wakeup() const {
    if (!connected_) return std::nullopt;
    if (refused_until_) return refused_until_;
    if (!welcomed_) return std::nullopt;
    Millis at = next_beat_;
    if (!under_way_.empty()) at = std::min(at, under_way_.begin()->second.since + kReportPatience);
    if (!talkers_.empty() && under_way_.size() < kReportsMax)
        at = std::min(at, hold_reports_until_.value_or(Millis{0}));
    return at;
}

std::vector<Effect> AgentCore::flush(Now now) {
    std::vector<Effect> out;
    if (refused_until_ && *refused_until_ <= now.boot) {
        refused_until_.reset();
        connected_ = false;
        out.emplace_back(DropConnection{"the controller refused all nodes of this agent"});
    }
    if (!connected_ || !welcomed_) return out;
    while (!under_way_.empty() && under_way_.begin()->second.since + kReportPatience <= now.boot)
        fail_report(under_way_.begin()->first, now);
    const bool beats = next_beat_ <= now.boot;
    if (beats) beat(now);
    send_reports(now, out);
    if (!beats || std::ranges::any_of(out, [](const Effect& effect) {
            return std::holds_alternative<SendReport>(effect);
        }))
        return out;
    out.emplace_back(SendReport{0, {.term = term_, .nodes = {}}});
    return out;
}

/// Once a heartbeat, what a lost message may have taken is said again.
void AgentCore::beat(Now now) {
    next_beat_ = now.boot + heartbeat_;
    for (const NodeIndex node : std::vector(unsettled_.begin(), unsettled_.end())) {
        nodes_[node].repeat();
        look_at(node);
    }
    const std::size_t turns = (nodes_.size() + kDigestRounds - 1) / kDigestRounds;
    for (std::size_t i = 0; i < turns; ++i) {
        digest_turn_ = (digest_turn_ + 1) % nodes_.size();
        nodes_[digest_turn_].say_digest();
        look_at(static_cast<NodeIndex>(digest_turn_));
    }
}

void AgentCore::send_reports(Now now, std::vector<Effect>& out) {
    if (hold_reports_until_.value_or(now.boot) > now.boot) return;
    hold_reports_until_.reset();
    while (!talkers_.empty() && under_way_.size() < kReportsMax) {
        UnderWay under_way{.nodes = {}, .since = now.boot};
        api::AgentReport report = take_report(under_way.nodes);
        if (report.nodes.empty()) continue;
        under_way_.emplace(++seq_, std::move(under_way));
        out.emplace_back(SendReport{seq_, std::move(report)});
    }
}

api::AgentReport AgentCore::take_report(std::vector<NodeIndex>& nodes) {
    api::AgentReport report{.term = term_, .nodes = {}};
    for (std::size_t bytes = 0; bytes < kReportBytesMax && !talkers_.empty();) {
        const NodeIndex node = talkers_.front();
        talkers_.pop_front();
        talks_[node] = false;
        if (!nodes_[node].has_news()) continue;
        report.nodes.push_back(nodes_[node].take_report());
        nodes.push_back(node);
        bytes += bytes_of(report.nodes.back());
    }
    return report;
}

}  // namespace twinyard::agent
