#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "controller/core/core.h"
#include "controller/core/state.h"

namespace twinyard::controller {
namespace {

/// What PutStatus writes of a workload.
model::WorkloadPtr status_part(const model::WorkloadPtr& workload) {
    model::Workload part = *workload;
    part.spec = nullptr;
    part.placement = nullptr;
    return std::make_shared<const model::Workload>(std::move(part));
}

struct Replay {
    Records& records;

    void operator()(const api::PutSpec& put) const { records.specs[put.id] = put.spec; }
    void operator()(const api::PutStatus& put) const {
        records.statuses[put.workload->id] = status_part(put.workload);
    }
    void operator()(const api::PutPlacement& put) const {
        if (put.placement == nullptr)
            records.placements.erase(put.id);
        else
            records.placements[put.id] = put.placement;
    }
    void operator()(const api::DropWorkload& drop) const {
        records.specs.erase(drop.id);
        records.statuses.erase(drop.id);
        records.placements.erase(drop.id);
    }
    void operator()(const api::PutNode& put) const { records.nodes[put.node->id] = put.node; }
    void operator()(const api::DropNode& drop) const { records.nodes.erase(drop.id); }
    void operator()(const api::PutBlob& put) const { records.blobs.insert(put.hash); }
    void operator()(const api::DropBlob& drop) const { records.blobs.erase(drop.hash); }
    void operator()(const api::PutOutbox& put) const {
        records.outbox[put.record.outbox_seq] = put.record;
    }
    void operator()(const api::DropOutbox& drop) const { records.outbox.erase(drop.seq); }
    void operator()(const api::PutRequest& put) const { records.requests[put.id] = put; }
    void operator()(const api::DropRequest& drop) const { records.requests.erase(drop.id); }
    void operator()(const api::PutCounters& put) const { records.counters = put.counters; }
};

bool same_status(const model::Workload& a, const model::Workload& b) {
    return a.id == b.id && a.job == b.job && a.revision == b.revision && a.status == b.status;
}

bool same_request(const api::PutRequest& a, const api::PutRequest& b) {
    return a.id == b.id && a.workload == b.workload && a.job == b.job && a.at == b.at;
}

std::string id_text(std::uint64_t id) {
    return std::to_string(id);
}
template <class Tag, class Rep>
std::string id_text(Id<Tag, Rep> id) {
    return std::to_string(id.value());
}
std::string id_text(const api::RequestId&) {
    return "(one)";
}

/// The first key that only one has, or whose values are not the same.
template <class Map, class Same>
std::string differ(const char* kind, const Map& a, const Map& b, Same&& same) {
    for (const auto& [id, value] : a) {
        const auto other = b.find(id);
        if (other == b.end()) return std::string(kind) + " " + id_text(id) + " is in one only";
        if (!same(value, other->second)) return std::string(kind) + " " + id_text(id) + " differs";
    }
    if (a.size() == b.size()) return {};
    return std::string(kind) + ": " + id_text(a.size()) + " and " + id_text(b.size());
}

}  // namespace

void replay(const api::Mutation& mutation, Records& records) {
    std::visit(Replay{records}, mutation);
}

std::string first_difference(const Records& a, const Records& b) {
    if (a.counters != b.counters) return "counters differ";
    if (a.blobs != b.blobs) return "blobs differ";
    const auto deep = [](const auto& x, const auto& y) { return *x == *y; };
    const auto status = [](const auto& x, const auto& y) { return same_status(*x, *y); };
    const auto plain = [](const auto& x, const auto& y) { return x == y; };
    for (const std::string& text : {differ("spec", a.specs, b.specs, deep),
                                    differ("status", a.statuses, b.statuses, status),
                                    differ("placement", a.placements, b.placements, deep),
                                    differ("node", a.nodes, b.nodes, deep),
                                    differ("outbox row", a.outbox, b.outbox, plain),
                                    differ("request", a.requests, b.requests, same_request)}) {
        if (!text.empty()) return text;
    }
    return {};
}

Records Core::records() const {
    Records records;
    records.counters = state_->counters;
    state_->view.workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        records.specs.emplace(workload->id, workload->spec);
        records.statuses.emplace(workload->id, status_part(workload));
        if (workload->placement != nullptr)
            records.placements.emplace(workload->id, workload->placement);
    });
    state_->view.nodes.for_each(
        [&](std::uint64_t, const model::NodePtr& node) { records.nodes.emplace(node->id, node); });
    records.outbox = state_->outbox;
    records.requests = state_->requests;
    for (const auto& [hash, use] : state_->blobs) {
        if (use.stored) records.blobs.insert(hash);
    }
    return records;
}

}  // namespace twinyard::controller
