// Agents' sessions: who carries which node. A newer session wins; what an older one says or is told
// from then on does not count.
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::Node;
using model::NodeLink;

/// Empty: it may join.
std::string refusal(const Transaction& tx, const JoinWork& work, const api::NodeHello& hello) {
    const std::string& ours = tx.state().counters.cluster_id;
    if (!work.hello.cluster_id.empty() && work.hello.cluster_id != ours)
        return "it belongs to another cluster";
    if (hello.highest_term > tx.state().settings.term) return "it follows a newer controller";
    if (hello.name.empty()) return "it has no name";
    const bool known = tx.state().node_names.contains(hello.name);
    if (!known && !tx.config().nodes_may_join) return "it is not in the configuration";
    return {};
}

Node joined_node(Transaction& tx, const api::NodeHello& hello) {
    const auto known = tx.state().node_names.find(hello.name);
    if (known != tx.state().node_names.end()) return *find(tx.view(), known->second);
    Node node;
    node.id = model::NodeId{tx.counters().next_node++};
    node.name = hello.name;
    return node;
}

void take_over(Transaction& tx, model::NodeId id, std::uint64_t session) {
    Core::State& memory = tx.memory();
    NodeRuntime& runtime = memory.nodes[id];
    const auto old = memory.sessions.find(runtime.session);
    if (old != memory.sessions.end()) old->second.erase(id);
    memory.sessions[session].insert(id);
    runtime.session = session;
    runtime.orphans.clear();
    runtime.strays.clear();
    runtime.digest.reset();
}

void apply_hello(const Transaction& tx,
                 const JoinWork& work,
                 const api::NodeHello& hello,
                 Node& node) {
    const model::NodeDeclaration* declared = find_declaration(tx.state(), node.name);
    if (declared == nullptr || declared->address.empty()) node.address = work.hello.address;
    node.facts = hello.facts;
    node.emulated = hello.emulated;
    merge_capacity(tx, node);
    judge_return(tx, node);
    node.link = NodeLink::Responding;
}

/// What had begun by now must be in the agent's first full report: its journal does not forget.
void expect_launches(Transaction& tx, model::NodeId id) {
    NodeRuntime& runtime = tx.memory().nodes[id];
    runtime.to_confirm.clear();
    for (const model::WorkloadId workload_id : runtime.work) {
        const model::Workload& workload = *find(tx.view(), workload_id);
        for (const Active& active : actives(tx.config(), workload)) {
            const bool begun = !active.index || workload.status.runs[*active.index].state !=
                                                    model::MemberState::Placed;
            if (active.node == id && begun) runtime.to_confirm.insert(active.key);
        }
    }
}

/// False: there was no room for all of it; it is done again from the start of this node.
bool join_node(Transaction& tx, const JoinWork& work, const api::NodeHello& hello) {
    Node node = joined_node(tx, hello);
    const model::NodeId id = node.id;
    tx.memory().nodes[id].found = hello;
    apply_hello(tx, work, hello, node);
    tx.put_node(std::move(node));
    const std::string why = "the agent of node " + hello.name + " lost its journal";
    if (hello.journal_lost && !end_launches(tx, id, NodeEnd::Over, why)) return false;
    take_over(tx, id, work.session);
    expect_launches(tx, id);
    tx.send_full(id);
    return true;
}

}  // namespace

void judge_return(const Transaction& tx, Node& node) {
    const bool stays_down =
        tx.config().limits.return_to_service == 0 && !tx.config().nodes_may_join;
    if (node.link != NodeLink::Lost || !stays_down || node.down) return;
    node.down = true;
    node.reason = "Not responding";
    node.reason_uid = 0;
    node.reason_time = tx.wall();
}

Result<api::Reply> handle(Transaction& tx, const api::AgentJoined& command) {
    tx.memory().sessions.try_emplace(command.session);
    enqueue(tx, JoinWork{.session = command.session, .hello = command.hello, .next_node = 0});
    return api::Done{};
}

bool work_off(Transaction& tx, JoinWork& work) {
    for (; work.next_node < work.hello.nodes.size(); ++work.next_node) {
        if (!tx.state().sessions.contains(work.session)) return true;
        if (!tx.has_room()) return false;
        const api::NodeHello& hello = work.hello.nodes[work.next_node];
        const std::string refused = refusal(tx, work, hello);
        if (!refused.empty())
            tx.refuse_node(work.session, hello.name + ": " + refused);
        else if (!join_node(tx, work, hello))
            return false;
    }
    return true;
}

Result<api::Reply> handle(Transaction& tx, const api::AgentLeft& command) {
    Core::State& memory = tx.memory();
    const auto session = memory.sessions.find(command.session);
    if (session == memory.sessions.end()) return api::Done{};
    LeaveWork work{.nodes = {session->second.begin(), session->second.end()}, .next = 0};
    for (const model::NodeId node : work.nodes)
        memory.nodes[node].session = 0;
    memory.sessions.erase(session);
    enqueue(tx, std::move(work));
    return api::Done{};
}

bool work_off(Transaction& tx, LeaveWork& work) {
    for (; work.next < work.nodes.size(); ++work.next) {
        if (!tx.has_room()) return false;
        const model::NodeId id = work.nodes[work.next];
        const Node* found = find(tx.view(), id);
        const bool back = found == nullptr || tx.memory().nodes[id].session != 0;
        if (back || found->link != NodeLink::Responding) continue;
        Node node = *found;
        node.link = NodeLink::Silent;
        tx.put_node(std::move(node));
    }
    return true;
}

}  // namespace twinyard::controller
