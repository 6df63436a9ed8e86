// Time passes, and work is done a slice at a time.
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::Workload;
using model::WorkloadState;

void begin_due(Transaction& tx) {
    const auto& begins = tx.state().begins;
    while (!begins.empty() && begins.begin()->first <= tx.wall() && tx.has_room()) {
        Workload next = *find(tx.view(), begins.begin()->second);
        set_eligible(tx, next);
        tx.put(std::move(next));
    }
}

void fire(Transaction& tx, model::WorkloadId id) {
    const Workload& workload = *find(tx.view(), id);
    if (workload.status.state == WorkloadState::Pending) {
        Workload next = workload;
        next.status.not_before = ClusterTime{};
        tx.put(std::move(next));
    } else if (workload.status.state == WorkloadState::Running) {
        // The node should have done it; its step daemon is late or gone.
        order_end_now(tx, id, {.kind = model::EndKind::TimeLimit}, false);
    } else {
        tx.remove(id);
    }
}

void timers_due(Transaction& tx) {
    const auto& timers = tx.state().timers;
    while (!timers.empty() && timers.begin()->first <= tx.now() && tx.has_room())
        fire(tx, timers.begin()->second);
}

void requests_due(Transaction& tx) {
    const auto& ages = tx.state().request_ages;
    while (!ages.empty() && ages.begin()->first + kRequestMemory <= tx.now() && tx.has_room())
        tx.forget_request(api::RequestId{ages.begin()->second});
}

void sweep_blobs(Transaction& tx) {
    auto& unreferenced = tx.memory().unreferenced;
    while (!unreferenced.empty() && tx.has_room()) {
        const ContentHash hash = *unreferenced.begin();
        unreferenced.erase(unreferenced.begin());
        const auto use = tx.state().blobs.find(hash);
        const bool needed = use == tx.state().blobs.end() || use->second.references > 0 ||
                            use->second.pins > 0 || !use->second.stored;
        if (!needed) tx.drop_blob(hash);
    }
}

/// Nodes that were kept for their work only.
void drop_empty_nodes(Transaction& tx) {
    const std::set<model::NodeId> unconfigured = tx.state().unconfigured;
    for (const model::NodeId id : unconfigured) {
        if (!tx.has_room()) return;
        const NodeRuntime& runtime = tx.memory().nodes[id];
        if (runtime.session == 0 && runtime.references == 0 && runtime.work.empty())
            tx.drop_node(id);
    }
}

bool work_off_one(Transaction& tx, Work& work) {
    return std::visit([&](auto& slice) { return work_off(tx, slice); }, work);
}

}  // namespace

void enqueue(Transaction& tx, Work work) {
    tx.memory().backlog.push_back(std::move(work));
    work_off_backlog(tx);
}

void work_off_backlog(Transaction& tx) {
    auto& backlog = tx.memory().backlog;
    if (tx.memory().backlog_busy) return;
    tx.memory().backlog_busy = true;
    while (!backlog.empty() && tx.has_room()) {
        if (!work_off_one(tx, backlog.front())) break;
        backlog.pop_front();
    }
    tx.memory().backlog_busy = false;
}

Result<api::Reply> handle(Transaction& tx, const api::Tick&) {
    work_off_backlog(tx);
    requests_due(tx);
    begin_due(tx);
    timers_due(tx);
    sweep_blobs(tx);
    drop_empty_nodes(tx);
    return api::Done{};
}

Result<api::Reply> handle(Transaction& tx, const api::Recorded& command) {
    enqueue(tx, RecordedWork{.seqs = command.outbox_seqs, .next = 0});
    return api::Done{};
}

bool work_off(Transaction& tx, RecordedWork& work) {
    for (; work.next < work.seqs.size(); ++work.next) {
        if (!tx.has_room()) return false;
        tx.drop_record(work.seqs[work.next]);
    }
    return true;
}

}  // namespace twinyard::controller
