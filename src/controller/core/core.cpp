#include "controller/core/core.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "controller/core/handlers.h"
#include "controller/core/state.h"
#include "controller/core/transaction.h"

namespace twinyard::controller {
namespace {

using model::Workload;

std::string job_text(model::WorkloadId id) {
    return "workload " + std::to_string(id.value());
}

/// One record from three; they were written in one transaction, so what does not fit together is
/// damage.
Result<Workload> assemble(const Records& records, const model::WorkloadPtr& status) {
    Workload workload = *status;
    const auto spec = records.specs.find(workload.id);
    if (spec == records.specs.end())
        return fail(ErrorCode::Corrupt, job_text(workload.id) + " has no request");
    workload.spec = spec->second;
    const auto placement = records.placements.find(workload.id);
    workload.placement = placement == records.placements.end() ? nullptr : placement->second;
    const std::size_t grants =
        workload.placement == nullptr ? 0 : workload.placement->grants.size();
    const std::size_t runs = workload.status.runs.size();
    const bool fits = runs == grants && (grants > 0 || !holds_resources(workload.status.state));
    if (!fits)
        return fail(ErrorCode::Corrupt, job_text(workload.id) + " and its placement do not agree");
    return workload;
}

void load_small_records(Core::State& state, Records& records) {
    state.counters = std::move(records.counters);
    for (const ContentHash& hash : records.blobs) {
        state.blobs[hash].stored = true;
        state.unreferenced.insert(hash);
    }
    for (const auto& [seq, row] : records.outbox)
        ++state.outbox_rows[row.workload];
    state.outbox = std::move(records.outbox);
    for (const auto& [id, request] : records.requests)
        state.request_ages.emplace(request.at, id);
    state.requests = std::move(records.requests);
}

Status load_workloads(Core::State& state, const Records& records) {
    if (records.specs.size() != records.statuses.size())
        return fail(ErrorCode::Corrupt, "there are requests without a status");
    for (const auto& [id, status] : records.statuses) {
        TRY(Workload workload, assemble(records, status));
        const auto now = std::make_shared<const Workload>(std::move(workload));
        state.view.workloads.put(id.value(), now);
        index_workload(state, nullptr, now.get());
    }
    return {};
}

/// What a crash has cut off in the middle: the node's record tells that its work should end.
void resume_node_ends(Core::State& state) {
    state.view.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        const bool lost =
            node->link == model::NodeLink::Lost || node->link == model::NodeLink::NoAgent;
        if (lost) state.backlog.emplace_back(NodeEndWork{node->id, NodeEnd::Lost});
        if (node->down) state.backlog.emplace_back(NodeEndWork{node->id, NodeEnd::Down});
    });
}

}  // namespace

Result<Core> Core::load(Settings settings, Records records, const api::Envelope& at_start) {
    auto state = std::make_unique<State>();
    state->settings = std::move(settings);
    state->view.config = state->settings.config != nullptr
                             ? state->settings.config
                             : std::make_shared<const model::ClusterConfig>();
    state->view.time = std::max(at_start.time, records.counters.time);
    state->view.wall = at_start.wall;
    load_small_records(*state, records);
    for (const auto& [id, node] : records.nodes) {
        state->view.nodes.put(id.value(), node);
        index_node(*state, nullptr, node.get());
    }
    TRY_STATUS(load_workloads(*state, records));
    resume_node_ends(*state);
    state->view.revision = state->counters.revision;
    return Core(std::move(state));
}

Core::Core(std::unique_ptr<State> state) : state_(std::move(state)) {}
Core::Core(Core&&) noexcept = default;
Core& Core::operator=(Core&&) noexcept = default;
Core::~Core() = default;

api::Applied Core::apply(const api::Command& command, const api::Envelope& envelope) {
    Transaction tx(*state_, envelope);
    Result<api::Reply> reply =
        std::visit([&](const auto& given) { return handle(tx, given); }, command);
    return tx.finish(std::move(reply));
}

model::Snapshot Core::snapshot() const {
    return state_->view;
}

const model::Snapshot& Core::state_view() const {
    return state_->view;
}

bool Core::has_backlog() const {
    return !state_->backlog.empty();
}

std::optional<ClusterTime> Core::next_wakeup() const {
    std::optional<ClusterTime> next;
    const auto at = [&](ClusterTime time) { next = next ? std::min(*next, time) : time; };
    const ClusterTime now = state_->view.time;
    if (has_backlog() || !state_->unreferenced.empty()) at(now);
    if (!state_->timers.empty()) at(state_->timers.begin()->first);
    if (!state_->request_ages.empty()) at(state_->request_ages.begin()->first + kRequestMemory);
    if (!state_->begins.empty()) at(now + (state_->begins.begin()->first - state_->view.wall));
    return next;
}

void Core::pin_blob(const ContentHash& hash) {
    BlobUse& use = state_->blobs[hash];
    ++use.pins;
    use.stored = true;
}

void Core::unpin_blob(const ContentHash& hash) {
    const auto use = state_->blobs.find(hash);
    CHECK(use != state_->blobs.end() && use->second.pins > 0);
    if (--use->second.pins == 0 && use->second.references == 0) state_->unreferenced.insert(hash);
}

std::vector<model::NodeId> Core::nodes_of(std::uint64_t session) const {
    const auto found = state_->sessions.find(session);
    if (found == state_->sessions.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::uint64_t Core::session_of(model::NodeId node) const {
    const auto found = state_->nodes.find(node);
    return found == state_->nodes.end() ? 0 : found->second.session;
}

std::uint64_t Core::desired_digest_of(model::NodeId node) const {
    return node_digest(*state_, node);
}

const api::Counters& Core::counters() const {
    return state_->counters;
}

std::vector<api::AccountingRecord> Core::outbox(std::uint64_t after_seq, std::size_t max) const {
    std::vector<api::AccountingRecord> rows;
    for (auto row = state_->outbox.upper_bound(after_seq);
         row != state_->outbox.end() && rows.size() < max;
         ++row)
        rows.push_back(row->second);
    return rows;
}

}  // namespace twinyard::controller
