#include "sim/durable.h"

#include <charconv>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "wire/record.h"

namespace twinyard::sim {
namespace {

constexpr std::string_view kWorkloads = "w/";

api::LaunchKey key_of(model::WorkloadId id, model::Attempt attempt, const model::NodeGrant& grant) {
    return {id, attempt, grant.group, grant.first_member};
}

}  // namespace

std::string DurableView::note_commit() {
    const auto found = disk_.contents().find(store::kBatchKey);
    if (found == disk_.contents().end()) return {};
    const Result<store::BatchMark> mark = store::decode_mark(found->second);
    if (!mark) return mark.error().message();
    const store::BatchMark before = std::exchange(mark_, *mark);
    for (auto it = disk_.contents().lower_bound(kWorkloads);
         it != disk_.contents().end() && it->first.starts_with(kWorkloads);
         ++it) {
        std::uint64_t id = 0;
        std::from_chars(it->first.data() + kWorkloads.size(),
                        it->first.data() + it->first.find('/', kWorkloads.size()),
                        id,
                        16);
        seen_.insert(model::WorkloadId{id});
    }
    if (mark_ == before) return {};
    if (mark_.seq != before.seq + 1) {
        return "batch " + std::to_string(mark_.seq) + " went in after batch " +
               std::to_string(before.seq);
    }
    if (mark_.last_revision < before.last_revision) return "the revision went back in the store";
    if (mark_.term < before.term) return "a batch of an older term went in";
    return {};
}

std::optional<model::Workload> DurableView::workload(model::WorkloadId id) const {
    std::vector<wire::KeyValue> keys;
    wire::append_record(api::DropWorkload{id}, keys);
    std::optional<model::Workload> workload;
    std::shared_ptr<const model::Placement> placement;
    for (const wire::KeyValue& key : keys) {
        const auto found = disk_.contents().find(key.key);
        if (found == disk_.contents().end()) continue;
        auto record = wire::read_record(found->first, found->second);
        if (!record || !*record) continue;
        if (const auto* status = std::get_if<api::PutStatus>(&**record))
            workload = *status->workload;
        if (const auto* put = std::get_if<api::PutPlacement>(&**record)) placement = put->placement;
    }
    if (workload) workload->placement = std::move(placement);
    return workload;
}

bool DurableView::knows_attempt(const api::LaunchKey& key) const {
    const std::optional<model::Workload> found = workload(key.workload);
    return found ? found->status.attempt >= key.attempt : was_ever(key.workload);
}

bool DurableView::waits_for(const api::LaunchKey& key) const {
    const std::optional<model::Workload> found = workload(key.workload);
    if (!found) return false;
    for (const model::FencedGrant& fenced : found->status.fenced) {
        if (key_of(key.workload, fenced.attempt, fenced.grant) == key) return true;
    }
    if (!model::holds_resources(found->status.state) || found->placement == nullptr) return false;
    for (std::size_t i = 0; i < found->status.runs.size(); ++i) {
        if (found->status.runs[i].state == model::MemberState::Ended) continue;
        const model::NodeGrant& grant = found->placement->grants[i];
        if (key_of(key.workload, found->status.attempt, grant) == key) return true;
    }
    return false;
}

Result<controller::Records> DurableView::records() const {
    controller::Records records;
    for (const auto& [key, value] : disk_.contents()) {
        auto record = wire::read_record(key, value);
        if (!record) return fail(std::move(record).error().in("record '" + key + "'"));
        if (*record) controller::replay(**record, records);
    }
    return records;
}

std::size_t DurableView::count(std::string_view prefix) const {
    std::size_t count = 0;
    for (auto it = disk_.contents().lower_bound(prefix);
         it != disk_.contents().end() && it->first.starts_with(prefix);
         ++it)
        ++count;
    return count;
}

}  // namespace twinyard::sim
