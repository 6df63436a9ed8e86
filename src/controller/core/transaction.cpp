#include "controller/core/transaction.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/check.h"

namespace twinyard::controller {
namespace {

/// Most records that one step of a slice changes: status, placement, node, and a few rows of
/// history.
constexpr std::size_t kStepMutationsMax = 10;
/// Steps of a slice that change nothing cost time too: no command over a millisecond.
constexpr std::size_t kSliceStepsMax = 400;

}  // namespace

Transaction::Transaction(Core::State& state, const api::Envelope& envelope)
    : state_(state), principal_(envelope.principal) {
    state_.view.time = std::max(state_.view.time, envelope.time);
    state_.view.wall = envelope.wall;
}

std::size_t Transaction::mutations_so_far() const {
    std::size_t count = others_.size() + touched_nodes_.size() + 1;
    for (const auto& [id, touch] : touched_)
        count += touch.removed ? 1U : 1U + (touch.spec ? 1U : 0U) + (touch.placement ? 1U : 0U);
    return count;
}

bool Transaction::has_room() {
    return ++steps_ < kSliceStepsMax &&
           mutations_so_far() + kStepMutationsMax <= kCommandMutationsMax;
}

api::Counters& Transaction::counters() {
    counters_changed_ = true;
    return state_.counters;
}

const model::Workload& Transaction::put(model::Workload next) {
    const model::WorkloadPtr* found = state_.view.workloads.find(next.id.value());
    const model::WorkloadPtr old = found == nullptr ? nullptr : *found;
    next.revision = ++counters().revision;
    Touch& touch = touched_[next.id];
    touch.spec |= old == nullptr || old->spec != next.spec;
    touch.placement |= (old == nullptr ? nullptr : old->placement) != next.placement;
    const auto now = std::make_shared<const model::Workload>(std::move(next));
    note_orders(old.get(), now.get());
    state_.view.workloads.put(now->id.value(), now);
    index_workload(state_, old.get(), now.get());
    return *now;
}

void Transaction::remove(model::WorkloadId id) {
    const model::WorkloadPtr old = *state_.view.workloads.find(id.value());
    ++counters().revision;
    touched_[id].removed = true;
    index_workload(state_, old.get(), nullptr);
    state_.view.workloads.erase(id.value());
}

/// What is over needs no order: its agent is told to forget it when it reports the end.
void Transaction::note_orders(const model::Workload* old, const model::Workload* now) {
    const auto before = old == nullptr ? std::vector<Active>() : actives(config(), *old);
    const auto after = actives(config(), *now);
    const auto same = [](const Active& a, const Active& b) {
        return a.key == b.key && a.stage == b.stage && a.limit == b.limit;
    };
    const bool aligned = before.size() == after.size();
    for (std::size_t i = 0; i < after.size(); ++i) {
        const bool known = aligned ? same(before[i], after[i])
                                   : std::ranges::any_of(before, [&](const Active& active) {
                                         return same(active, after[i]);
                                     });
        if (!known) orders_[after[i].node].changed.insert(now->id);
    }
}

const model::Node& Transaction::put_node(model::Node next) {
    const model::NodePtr* found = state_.view.nodes.find(next.id.value());
    const model::NodePtr old = found == nullptr ? nullptr : *found;
    next.revision = old == nullptr ? 0 : old->revision;
    if (old != nullptr && *old == next) return *old;
    next.revision = ++counters().revision;
    const auto now = std::make_shared<const model::Node>(std::move(next));
    touched_nodes_.insert(now->id);
    state_.view.nodes.put(now->id.value(), now);
    index_node(state_, old.get(), now.get());
    return *now;
}

void Transaction::drop_node(model::NodeId id) {
    const model::NodePtr old = *state_.view.nodes.find(id.value());
    ++counters().revision;
    touched_nodes_.insert(id);
    index_node(state_, old.get(), nullptr);
    state_.view.nodes.erase(id.value());
    state_.nodes.erase(id);
}

void Transaction::note_config() {
    config_changed_ = true;
    ++counters().revision;
}

void Transaction::store_blob(const api::Blob& blob) {
    BlobUse& use = state_.blobs[blob.hash];
    if (use.stored) return;
    use.stored = true;
    others_.push_back(api::PutBlob{blob.hash, blob.bytes});
}

void Transaction::drop_blob(const ContentHash& hash) {
    state_.blobs.erase(hash);
    others_.push_back(api::DropBlob{hash});
}

void Transaction::record(api::AccountingRecord record) {
    record.outbox_seq = counters().next_outbox++;
    if (++state_.outbox_rows[record.workload] == 1) {
        // The last thing that keeps a finished workload, or the first thing again.
        if (const model::Workload* workload = find(state_.view, record.workload))
            set_timer(state_, workload->id, due(state_, *workload));
    }
    others_.push_back(api::PutOutbox{record});
    const std::uint64_t seq = record.outbox_seq;
    state_.outbox.emplace(seq, std::move(record));
}

void Transaction::drop_record(std::uint64_t seq) {
    const auto row = state_.outbox.find(seq);
    if (row == state_.outbox.end()) return;
    const model::WorkloadId id = row->second.workload;
    state_.outbox.erase(row);
    others_.push_back(api::DropOutbox{seq});
    const auto rows = state_.outbox_rows.find(id);
    if (--rows->second > 0) return;
    state_.outbox_rows.erase(rows);
    if (const model::Workload* workload = find(state_.view, id))
        set_timer(state_, id, due(state_, *workload));
}

void Transaction::remember(const api::PutRequest& request) {
    state_.requests.emplace(request.id, request);
    state_.request_ages.emplace(request.at, request.id);
    others_.push_back(request);
}

void Transaction::forget_request(const api::RequestId& id) {
    const auto found = state_.requests.find(id);
    state_.request_ages.erase({found->second.at, id});
    state_.requests.erase(found);
    others_.push_back(api::DropRequest{id});
}

void Transaction::forget(model::NodeId node, const api::LaunchKey& key) {
    NodeRuntime& runtime = state_.nodes[node];
    if (runtime.strays.erase(key) > 0) runtime.digest.reset();
    orders_[node].forget.insert(key);
}

void Transaction::signal(model::NodeId node, const api::SignalOrder& order) {
    orders_[node].signals.push_back(order);
}

void Transaction::send_full(model::NodeId node) {
    orders_[node].full = true;
}

void Transaction::stop_stray(model::NodeId node, const api::LaunchKey& key) {
    NodeRuntime& runtime = state_.nodes[node];
    if (!runtime.strays.insert(key).second) return;
    runtime.digest.reset();
    orders_[node].strays.insert(key);
}

void Transaction::refuse_node(std::uint64_t session, std::string text) {
    last_effects_.push_back(api::RefuseNode{session, std::move(text)});
}

void Transaction::acknowledge(std::uint64_t session, std::uint64_t number) {
    last_effects_.push_back(api::AckReport{session, number});
}

api::NodeOrders Transaction::orders_for(model::NodeId node, const Orders& parts) {
    NodeRuntime& runtime = state_.nodes[node];
    api::NodeOrders orders;
    orders.node = node;
    orders.name = find(state_.view, node)->name;
    orders.full = parts.full;
    if (!runtime.digest) runtime.digest = node_digest(state_, node);
    orders.digest = *runtime.digest;
    for (const model::WorkloadId id : parts.full ? runtime.work : parts.changed) {
        const model::Workload* workload = find(state_.view, id);
        if (workload == nullptr) continue;
        for (const Active& active : actives(config(), *workload)) {
            if (active.node == node) orders.runs.push_back(desired_run(state_, *workload, active));
        }
    }
    for (const api::LaunchKey& key : parts.full ? runtime.strays : parts.strays)
        orders.runs.push_back(stop_run(state_, key, api::StopReason::GangEnded));
    orders.forget.assign(parts.forget.begin(), parts.forget.end());
    orders.signals = parts.signals;
    return orders;
}

/// Effects leave after the batch is durable. A crash in between loses nothing: the restart derives
/// the same orders from the records, and an agent drops what it has seen.
void Transaction::send_orders(std::vector<api::Effect>& out) {
    for (const auto& [node, parts] : orders_) {
        const auto runtime = state_.nodes.find(node);
        if (runtime == state_.nodes.end() || runtime->second.session == 0) continue;
        out.push_back(api::SendOrders{runtime->second.session, orders_for(node, parts)});
    }
}

void Transaction::write_objects(api::Applied& out) const {
    for (const model::NodeId id : touched_nodes_) {
        const model::NodePtr* found = state_.view.nodes.find(id.value());
        const model::NodePtr now = found == nullptr ? nullptr : *found;
        out.changes.push_back(model::NodeChange{id, now});
        if (now == nullptr)
            out.mutations.push_back(api::DropNode{id});
        else
            out.mutations.push_back(api::PutNode{now});
    }
    for (const auto& [id, touch] : touched_) {
        const model::WorkloadPtr* found = state_.view.workloads.find(id.value());
        const model::WorkloadPtr now = found == nullptr ? nullptr : *found;
        out.changes.push_back(model::WorkloadChange{id, now});
        if (now == nullptr) {
            out.mutations.push_back(api::DropWorkload{id});
            continue;
        }
        if (touch.spec) out.mutations.push_back(api::PutSpec{id, now->spec});
        if (touch.placement) out.mutations.push_back(api::PutPlacement{id, now->placement});
        out.mutations.push_back(api::PutStatus{now});
    }
}

api::Applied Transaction::finish(Result<api::Reply> reply) {
    const bool untouched = touched_.empty() && touched_nodes_.empty() && others_.empty();
    CHECK(reply.has_value() || (untouched && !config_changed_ && !counters_changed_));
    api::Applied out{.reply = std::move(reply), .mutations = {}, .changes = {}, .effects = {}};
    if (config_changed_) out.changes.emplace_back(model::ConfigChange{state_.view.config});
    write_objects(out);
    std::ranges::move(others_, std::back_inserter(out.mutations));
    if (counters_changed_) {
        state_.counters.time = now();
        out.mutations.emplace_back(api::PutCounters{state_.counters});
    }
    CHECK(out.mutations.size() <= kCommandMutationsMax);
    state_.view.revision = state_.counters.revision;
    send_orders(out.effects);
    std::ranges::move(last_effects_, std::back_inserter(out.effects));
    return out;
}

}  // namespace twinyard::controller
