// What administrators and silence do to nodes, and to the work on them.
#include <algorithm>
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::Node;
using model::NodeLink;
using model::Workload;
using model::WorkloadState;

std::string name_of(const Transaction& tx, model::NodeId id) {
    const Node* node = find(tx.view(), id);
    return node == nullptr ? std::string() : node->name;
}

void set_reason(const Transaction& tx, Node& node, const std::string& reason) {
    node.reason = reason;
    node.reason_uid = reason.empty() ? 0 : tx.principal().uid;
    node.reason_time = reason.empty() ? WallTime{} : tx.wall();
}

void act(Node& node, api::NodeAction action) {
    switch (action) {
        case api::NodeAction::Drain:
            node.drain = true;
            break;
        case api::NodeAction::Undrain:
            node.drain = false;
            break;
        case api::NodeAction::Down:
            node.down = true;
            break;
        case api::NodeAction::Resume:
            node.drain = node.down = false;
            break;
    }
}

/// What runs on a node that an administrator calls down ends: by its agent if there is one, else
/// by that word.
void end_on_down_node(Transaction& tx, const Node& node) {
    const bool reachable = node.link == NodeLink::Responding;
    tx.memory().backlog.emplace_back(
        NodeEndWork{node.id, reachable ? NodeEnd::Down : NodeEnd::Over});
}

Status update_one(Transaction& tx, const std::string& name, const api::UpdateNode& command) {
    const auto known = tx.state().node_names.find(name);
    if (known == tx.state().node_names.end())
        return fail(ErrorCode::NotFound, "there is no node " + name);
    Node node = *find(tx.view(), known->second);
    if (command.action) act(node, *command.action);
    const bool usable = !node.drain && !node.down;
    if (command.reason)
        set_reason(tx, node, *command.reason);
    else if (command.action && usable)
        set_reason(tx, node, {});
    if (command.weight) node.weight = *command.weight;
    if (command.features) {
        node.labels.clear();
        for (const std::string& feature : *command.features)
            node.labels.emplace_back(feature, "");
        std::ranges::sort(node.labels);
    }
    const Node& now = tx.put_node(std::move(node));
    if (command.action == api::NodeAction::Down) end_on_down_node(tx, now);
    return {};
}

/// Silence says nothing about a node that never spoke, and nothing new about one that is lost.
bool is_news(NodeLink from, NodeLink to) {
    if (from == to) return false;
    if (to == NodeLink::Silent) return from == NodeLink::Responding;
    return to != NodeLink::Lost || from != NodeLink::NoAgent;
}

/// What `end` does to one launch.
void end_active(Transaction& tx, const Active& active, NodeEnd end, const std::string& why) {
    const Workload& workload = *find(tx.view(), active.key.workload);
    const WorkloadState state = workload.status.state;
    if (end == NodeEnd::Over) return end_launch(tx, active.key, why);
    if (!active.index) return;
    if (end == NodeEnd::Down) {
        if (state == WorkloadState::Completing) return;
        const bool back = workload.spec->requeue_allowed || state == WorkloadState::Starting;
        const model::Outcome outcome{.kind = model::EndKind::NodeFailed, .detail = why};
        return order_end_now(tx, workload.id, outcome, back);
    }
    if (advance_run(tx, workload.id, *active.index, model::MemberEvent::NodeLost, nullptr))
        run_ended(tx, active.key.workload, *active.index, WallTime{});
}

bool still_holds(const Transaction& tx, const NodeEndWork& work) {
    const Node* node = find(tx.view(), work.node);
    if (node == nullptr) return false;
    if (work.end == NodeEnd::Lost)
        return node->link == NodeLink::Lost || node->link == NodeLink::NoAgent;
    return node->down && (work.end == NodeEnd::Down || node->link != NodeLink::Responding);
}

std::string why_ended(const Transaction& tx, const NodeEndWork& work) {
    const std::string name = name_of(tx, work.node);
    return work.end == NodeEnd::Lost ? "node " + name + " was lost" : "node " + name + " is down";
}

}  // namespace

Result<api::Reply> handle(Transaction& tx, const api::UpdateNode& command) {
    if (!tx.principal().is_admin)
        return fail(ErrorCode::Denied, "only an administrator changes nodes");
    if (command.names.size() > api::kCommandTargetsMax)
        return fail(ErrorCode::InvalidArgument, "too many nodes in one command");
    const bool needs_reason =
        command.action == api::NodeAction::Down || command.action == api::NodeAction::Drain;
    if (needs_reason && (!command.reason || command.reason->empty()))
        return fail(ErrorCode::InvalidArgument, "a reason is needed");
    api::Affected affected;
    for (const std::string& name : command.names)
        affected.results.push_back(update_one(tx, name, command));
    // After all of them: their own records come first.
    work_off_backlog(tx);
    return affected;
}

Result<api::Reply> handle(Transaction& tx, const api::NodeLinkChanged& command) {
    const Node* found = find(tx.view(), command.node);
    if (found == nullptr) return fail(ErrorCode::NotFound, "there is no such node");
    const NodeRuntime& runtime = tx.memory().nodes[command.node];
    // Only an agent that is connected responds.
    if (command.link == NodeLink::Responding && runtime.session == 0) return api::Done{};
    if (!is_news(found->link, command.link)) return api::Done{};
    Node node = *found;
    if (command.link == NodeLink::Responding) judge_return(tx, node);
    node.link = command.link;
    tx.put_node(std::move(node));
    if (command.link == NodeLink::Responding) tx.send_full(command.node);
    if (command.link == NodeLink::Lost || command.link == NodeLink::NoAgent)
        enqueue(tx, NodeEndWork{command.node, NodeEnd::Lost});
    return api::Done{};
}

bool work_off(Transaction& tx, NodeEndWork& work) {
    if (!still_holds(tx, work)) return true;
    return end_launches(tx, work.node, work.end, why_ended(tx, work));
}

bool end_launches(Transaction& tx, model::NodeId node, NodeEnd end, const std::string& why) {
    const std::set<model::WorkloadId> work = tx.memory().nodes[node].work;
    for (const model::WorkloadId id : work) {
        const model::WorkloadPtr workload = *tx.view().workloads.find(id.value());
        for (const Active& active : actives(tx.config(), *workload)) {
            if (active.node != node) continue;
            if (!tx.has_room()) return false;
            // The one before may have ended it.
            const std::optional<Active> still = find_active(tx, node, active.key);
            if (still) end_active(tx, *still, end, why);
        }
    }
    return true;
}

void end_launch(Transaction& tx, const api::LaunchKey& key, const std::string& why) {
    const model::WorkloadPtr workload = *tx.view().workloads.find(key.workload.value());
    if (key.attempt != workload->status.attempt || !holds_resources(workload->status.state))
        return release_fenced(tx, key);
    for (const Active& active : actives(tx.config(), *workload)) {
        if (active.key != key || !active.index) continue;
        api::ObservedRun over;
        over.outcome = {.kind = model::EndKind::NodeFailed, .detail = why};
        const auto ended = model::MemberEvent::AgentEnded;
        if (advance_run(tx, key.workload, *active.index, ended, &over))
            run_ended(tx, key.workload, *active.index, WallTime{});
        return;
    }
}

void release_fenced(Transaction& tx, const api::LaunchKey& key) {
    Workload next = *find(tx.view(), key.workload);
    const auto erased = std::erase_if(next.status.fenced, [&](const model::FencedGrant& fenced) {
        return launch_key(next, fenced.attempt, fenced.grant) == key;
    });
    if (erased > 0) tx.put(std::move(next));
}

std::optional<Active> find_active(const Transaction& tx,
                                  model::NodeId node,
                                  const api::LaunchKey& key) {
    const Workload* workload = find(tx.view(), key.workload);
    if (workload == nullptr) return std::nullopt;
    for (const Active& active : actives(tx.config(), *workload)) {
        if (active.key == key && active.node == node) return active;
    }
    return std::nullopt;
}

}  // namespace twinyard::controller
