#include "controller/shell/agent_sessions.h"

#include <algorithm>
#include <utility>

#include "os/log.h"
#include "wire/messages.h"

namespace twinyard::controller {
namespace {

const api::Principal kAgent{.uid = 0, .gid = 0, .is_admin = true};

model::NodeLink judge(Millis silent, const model::Limits& limits) {
    if (silent >= limits.node_lost_after) return model::NodeLink::Lost;
    if (silent >= limits.node_silent_after) return model::NodeLink::Silent;
    return model::NodeLink::Responding;
}

}  // namespace

AgentSessions::AgentSessions(std::shared_ptr<Lanes> lanes, model::Term term, Millis heartbeat)
    : lanes_(std::move(lanes)), term_(term), heartbeat_(heartbeat) {}

void AgentSessions::on_stream(rpc::Call call) {
    Result<api::AgentHello> hello = wire::decode<api::AgentHello>(call.payload());
    if (!hello) {
        call.fail(std::move(hello).error());
        return;
    }
    std::uint64_t session = 0;
    {
        const std::lock_guard lock(mutex_);
        session = next_session_++;
        call.on_cancel([this, session] { left(session); });
        Session& entry = sessions_[session];
        entry.connection = call.peer().connection;
        entry.stream = std::make_unique<rpc::Call>(std::move(call));
    }
    Item item{.command = api::AgentJoined{session, std::move(*hello)}, .principal = kAgent};
    item.on_reply = [this, session](Result<api::Reply> reply) {
        if (reply) return;
        const std::lock_guard lock(mutex_);
        const auto found = sessions_.find(session);
        if (found == sessions_.end()) return;
        found->second.stream->fail(std::move(reply).error());
        sessions_.erase(found);
    };
    if (lanes_->try_push(Lane::Agents, std::move(item))) return;
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);  // Dropping its call fails it; the agent comes again.
}

void AgentSessions::left(std::uint64_t session) {
    {
        const std::lock_guard lock(mutex_);
        sessions_.erase(session);
    }
    if (!lanes_->try_push(Lane::Agents,
                          {.command = api::AgentLeft{session}, .principal = kAgent})) {
        os::log_warning("the agents' lane is full: the end of session {} is noticed by silence",
                        session);
    }
}

std::uint64_t AgentSessions::session_of_connection(std::uint64_t connection) {
    const std::lock_guard lock(mutex_);
    for (auto& [id, session] : sessions_) {
        if (session.connection != connection) continue;
        session.heard = true;
        return id;
    }
    return 0;
}

void AgentSessions::on_report(rpc::Call call) {
    const std::uint64_t session = session_of_connection(call.peer().connection);
    if (session == 0) {
        call.fail(Error(ErrorCode::Conflict, "no order stream is open on this connection"));
        return;
    }
    const std::size_t bytes = call.payload().size();
    Result<api::AgentReport> report = wire::decode<api::AgentReport>(call.payload());
    if (!report) {
        call.fail(std::move(report).error());
        return;
    }
    if (report->nodes.empty()) {
        call.reply({});  // A heartbeat: heard, and nothing to store.
        return;
    }
    // Acknowledged by the effect, not by the command's reply: a long report is worked off in
    // slices.
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        const auto found = sessions_.find(session);
        if (found == sessions_.end()) return;  // Dropping the call fails it.
        number = next_report_++;
        found->second.reports.emplace(number, std::make_shared<rpc::Call>(std::move(call)));
    }
    Item item{.command = api::AgentReported{session, std::move(*report), number},
              .principal = kAgent};
    item.on_reply = [this, session, number](Result<api::Reply> reply) {
        if (reply) return;
        if (const auto refused = take_report(session, number))
            refused->fail(std::move(reply).error());
    };
    if (lanes_->try_push(Lane::Agents, std::move(item), bytes)) return;
    if (const auto refused = take_report(session, number)) {
        refused->fail(Error(ErrorCode::Unavailable, "the controller is busy; report again"));
    }
}

std::shared_ptr<rpc::Call> AgentSessions::take_report(std::uint64_t session, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return nullptr;
    auto report = found->second.reports.extract(number);
    return report ? std::move(report.mapped()) : nullptr;
}

void AgentSessions::send(std::vector<api::Effect> effects, const std::string& cluster_id) {
    std::map<std::uint64_t, api::AgentOrders> by_session;
    for (api::Effect& effect : effects) {
        if (auto* orders = std::get_if<api::SendOrders>(&effect)) {
            by_session[orders->session].nodes.push_back(std::move(orders->orders));
        } else if (auto* refused = std::get_if<api::RefuseNode>(&effect)) {
            by_session[refused->session].refused.push_back(std::move(refused->text));
        } else if (const auto* heard = std::get_if<api::AckReport>(&effect)) {
            if (const auto report = take_report(heard->session, heard->number)) report->reply({});
        }
    }
    const std::lock_guard lock(mutex_);
    for (auto& [session, orders] : by_session) {
        const auto found = sessions_.find(session);
        if (found == sessions_.end()) continue;
        orders.cluster_id = cluster_id;
        orders.term = term_;
        orders.heartbeat = heartbeat_;
        (void)found->second.stream->send_part(wire::encode(orders));
    }
}

std::vector<std::uint64_t> AgentSessions::take_heard() {
    std::vector<std::uint64_t> heard;
    const std::lock_guard lock(mutex_);
    for (auto& [id, session] : sessions_) {
        if (std::exchange(session.heard, false)) heard.push_back(id);
    }
    return heard;
}

std::vector<api::Command> AgentSessions::each_second(const Core& core,
                                                     ClusterTime now,
                                                     const model::Limits& limits) {
    for (const std::uint64_t session : take_heard()) {
        for (const model::NodeId node : core.nodes_of(session))
            nodes_[node].last = now;
    }
    std::vector<api::Command> commands;
    const model::Snapshot snapshot = core.snapshot();
    snapshot.nodes.for_each([&](std::uint64_t number, const model::NodePtr& node) {
        if (node->link == model::NodeLink::NoAgent) return;
        const model::NodeId id(static_cast<std::uint32_t>(number));
        // First seen: a controller that just started gives everybody the full time to call.
        Heard& heard = nodes_.try_emplace(id, Heard{.last = now}).first->second;
        const model::NodeLink link = judge(now - heard.last, limits);
        if (link == model::NodeLink::Responding || link == node->link) return;
        if (link == model::NodeLink::Silent && node->link == model::NodeLink::Lost) return;
        commands.emplace_back(api::NodeLinkChanged{id, link});
    });
    return commands;
}

}  // namespace twinyard::controller
