#include "sched/pass.h"

#include <algorithm>

#include "base/check.h"
#include "sched/limits.h"

namespace twinyard::sched {
namespace {

/// Of two reasons of one workload in two partitions, the one nearer to a start counts.
int hope(model::Wait wait) {
    switch (wait) {
        case model::Wait::Resources:
            return 3;
        case model::Wait::Priority:
            return 2;
        case model::Wait::EndlessHolders:
        case model::Wait::NodesUnavailable:
            return 1;
        default:
            return 0;
    }
}

/// Does it stand in the queue, before others?
bool queues(model::Wait wait) {
    return wait == model::Wait::Resources || wait == model::Wait::Priority ||
           wait == model::Wait::EndlessHolders;
}

}  // namespace

Pass::Pass(const Index& index, When when, const model::PriorityPolicy& policy, const Budget& budget)
    : index_(index),
      when_(when),
      policy_(policy),
      budget_(budget),
      timeline_(index, when.now),
      idle_(Room::idle(index)),
      waiting_(index.partition_nodes().size()),
      blockers_(index.partition_nodes().size()),
      blocked_(index.nodes().size()) {
    NodeSet schedulable(index.nodes().size()), configured(index.nodes().size());
    for (NodeIndex at = 0; at < index.nodes().size(); ++at) {
        const NodeRow& row = index.nodes()[at];
        if (row.schedulable) schedulable.add(at);
        if (row.node->configured) configured.add(at);
        users_matter_ |= row.use.same_user > 0;
        free_devices_.push_back(row.free_devices);
    }
    for (const NodeSet& nodes : index.partition_nodes()) {
        usable_.push_back(nodes);
        usable_.back() &= schedulable;
        configured_.push_back(nodes);
        configured_.back() &= configured;
        std::vector<std::uint32_t>& near = neighbours_.emplace_back();
        for (std::uint32_t at = 0; at < index.partition_nodes().size(); ++at) {
            if (nodes.intersects(index.partition_nodes()[at])) near.push_back(at);
        }
    }
}

model::Plan Pass::run() {
    plan_.based_on = index_.revision();
    for (const Alternative& alternative : order_of(index_, policy_, when_.now)) {
        if (spent()) break;
        consider(alternative);
    }
    for (const Reservation& each : timeline_.reservations()) {
        model::ReservedStart reserved{each.workload, each.start, {}};
        for (const NodePart& part : each.gang)
            reserved.nodes.push_back(index_.nodes()[part.node].node->id);
        std::ranges::sort(reserved.nodes);
        const auto repeated = std::ranges::unique(reserved.nodes);
        reserved.nodes.erase(repeated.begin(), repeated.end());
        plan_.reserved.push_back(std::move(reserved));
    }
    return std::move(plan_);
}

bool Pass::spent() const {
    return plan_.tested >= budget_.placements_max || plan_.starts.size() >= budget_.starts_max ||
           (policy_.backfill_tests > 0 && looked_behind_ > policy_.backfill_tests);
}

bool Pass::is_done(const Alternative& alternative) const {
    const bool one_partition = alternative.entry->workload->spec->partitions.size() == 1;
    return !one_partition && started_.contains(alternative.workload);
}

void Pass::consider(const Alternative& alternative) {
    if (is_done(alternative) || waits_by_itself(alternative)) return;
    if (anyone_waits_) ++looked_behind_;
    Seen& seen = look_up(alternative);
    if (!seen.cannot_start) {
        if (try_start(alternative, seen)) return;
        give_up(alternative, seen);
    }
    const model::VerdictPtr verdict = wait(alternative, seen);
    note(alternative, verdict);
    if (queues(verdict->wait)) count_waiting(alternative);
}

/// One that names several partitions stands before others once it waits in all of them.
void Pass::count_waiting(const Alternative& alternative) {
    const model::Workload& workload = *alternative.entry->workload;
    const std::size_t partitions = workload.spec->partitions.size();
    if (partitions > 1 && ++tried_[workload.id] < partitions) return;
    for (const std::uint32_t near : neighbours_[alternative.partition]) {
        Waiting& waiting = waiting_[near];
        if (waiting.count++ == 0) waiting.first = &workload;
    }
}

bool Pass::waits_by_itself(const Alternative& alternative) {
    const model::Wait why = alternative.partition == kNoPartition
                                ? model::Wait::PartitionInactive
                                : own_limit(*alternative.entry->workload, when_.now, when_.wall);
    if (why == model::Wait::None) return false;
    model::VerdictPtr& shared = own_verdicts_[why];
    if (shared == nullptr) shared = explain(why);
    note(alternative, shared);
    return true;
}

Pass::Seen& Pass::look_up(const Alternative& alternative) {
    const std::uint32_t uid = users_matter_ ? alternative.entry->workload->spec->uid : kNobody;
    const Key key{alternative.entry->shape.get(), alternative.partition, uid};
    const auto [found, is_new] = seen_.try_emplace(key);
    if (is_new) look_first(alternative, found->second);
    return found->second;
}

/// What holds for all of the shape, whatever is free.
void Pass::look_first(const Alternative& alternative, Seen& seen) {
    const model::WorkloadSpec& spec = *alternative.entry->workload->spec;
    const model::Partition& partition = index_.config().partitions[alternative.partition];
    seen.request = resolve(index_, spec, alternative.partition);
    seen.limit = limit_in(spec, partition);
    model::Wait why =
        partition_limit(spec, partition, index_.partition_nodes()[alternative.partition].count());
    if (why == model::Wait::None && !seen.request.unsupported.empty())
        why = model::Wait::Unsupported;
    seen.why = why;
    seen.cannot_start = why != model::Wait::None;
}

bool Pass::try_start(const Alternative& alternative, Seen& seen) {
    ++plan_.tested;
    const Gang gang =
        place(index_, seen.request, open_nodes(alternative), timeline_.window(seen.limit));
    if (gang.empty()) return false;
    start(alternative, seen, gang);
    return true;
}

void Pass::start(const Alternative& alternative, const Seen& seen, const Gang& gang) {
    if (reserved_.contains(alternative.workload)) timeline_.drop(alternative.workload);
    const model::Workload& workload = *alternative.entry->workload;
    model::PlannedStart planned;
    planned.workload = workload.id;
    planned.generation = workload.status.generation;
    planned.partition = index_.config().partitions[alternative.partition].name;
    std::uint32_t next_member = 0;
    for (const NodePart& part : gang) {
        if (!planned.grants.empty() && planned.grants.back().group != part.group) next_member = 0;
        model::PlannedGrant grant;
        grant.node = index_.nodes()[part.node].node->id;
        grant.group = part.group;
        grant.first_member = next_member;
        grant.member_count = part.members;
        grant.cpu_milli = part.take.cpu_milli;
        grant.memory_bytes = part.take.memory;
        grant.devices = choose_devices(index_, part.node, free_devices_[part.node], part.take);
        for (const std::uint16_t device : grant.devices)
            free_devices_[part.node] &= ~(std::uint64_t{1} << device);
        next_member += part.members;
        users_matter_ |= part.take.share == model::Share::SameUser;
        planned.grants.push_back(std::move(grant));
    }
    timeline_.start(gang, seen.limit);
    free_amounts_.clear();
    plan_.starts.push_back(std::move(planned));
    plan_.verdicts.erase(workload.id);
    started_.insert(workload.id);
}

void Pass::give_up(const Alternative& alternative, Seen& seen) {
    seen.cannot_start = true;
    seen.why = why_never(alternative, seen);
    seen.may_be_reserved = seen.why == model::Wait::None;
}

/// It cannot start now: keeps lower work from delaying it, and says why.
model::VerdictPtr Pass::wait(const Alternative& alternative, Seen& seen) {
    const model::Wait why = seen.why == model::Wait::None ? model::Wait::Priority : seen.why;
    const bool in_queue = queues(why);
    model::VerdictPtr own;
    if (in_queue) {
        anyone_waits_ = true;
        own = first_of_its_nodes(alternative, seen);
        if (!policy_.backfill) block(alternative);
    }
    if (own != nullptr) return own;
    if (seen.verdict == nullptr) seen.verdict = verdict(alternative, seen, why, std::nullopt);
    return seen.verdict;
}

/// Null unless it gets a start reserved or (without backfill) is the first that waits there.
model::VerdictPtr Pass::first_of_its_nodes(const Alternative& alternative, Seen& seen) {
    if (!seen.may_be_reserved) return nullptr;
    if (!policy_.backfill) {
        if (blocked_.intersects(usable_[alternative.partition])) return nullptr;
        return verdict(alternative, seen, model::Wait::Resources, std::nullopt);
    }
    if (!may_reserve(alternative)) return nullptr;
    const std::optional<Millis> starts_in = try_reserve(alternative, seen);
    seen.may_be_reserved = starts_in.has_value();  // Out of budget: do not search again.
    if (!starts_in) return nullptr;
    return verdict(alternative, seen, model::Wait::Resources, starts_in);
}

/// None: it fits once all that has an end has ended.
model::Wait Pass::why_never(const Alternative& alternative, Seen& seen) {
    const auto fits = [&](const NodeSet& nodes, Room& room) {
        ++plan_.tested;
        return !place(index_, seen.request, nodes, room).empty();
    };
    const NodeSet& usable = usable_[alternative.partition];
    if (fits(usable, timeline_.eventual())) return model::Wait::None;
    if (fits(usable, idle())) return model::Wait::EndlessHolders;
    if (fits(configured_[alternative.partition], idle())) return model::Wait::NodesUnavailable;
    return model::Wait::NeverFits;
}

/// The first few that wait in each set of partitions with common nodes get a reserved start.
bool Pass::may_reserve(const Alternative& alternative) const {
    if (!policy_.backfill || reserved_.contains(alternative.workload)) return false;
    const NodeSet& mine = index_.partition_nodes()[alternative.partition];
    std::uint32_t near = 0;
    for (const Reservation& each : timeline_.reservations())
        near += mine.intersects(index_.partition_nodes()[each.partition]) ? 1 : 0;
    return near < policy_.reservations;
}

std::optional<Millis> Pass::try_reserve(const Alternative& alternative, const Seen& seen) {
    const NodeSet& usable = usable_[alternative.partition];
    const Timeline::Search search{seen.request, usable, seen.limit, budget_.placements_max};
    std::optional<Reservation> found = timeline_.find_start(search, plan_.tested);
    if (!found) return std::nullopt;
    found->workload = alternative.workload;
    found->partition = alternative.partition;
    reserved_.insert(alternative.workload);
    const Millis starts_in = found->start - when_.now;
    timeline_.reserve(*std::move(found));
    return starts_in;
}

void Pass::block(const Alternative& alternative) {
    blocked_ |= index_.partition_nodes()[alternative.partition];
    std::vector<model::WorkloadId>& blockers = blockers_[alternative.partition];
    if (blockers.size() < 2) blockers.push_back(alternative.workload);
}

/// Nodes of the partition that nobody higher waits for (without backfill), but for its own other
/// partitions.
NodeSet Pass::open_nodes(const Alternative& alternative) const {
    NodeSet nodes = usable_[alternative.partition];
    if (policy_.backfill) return nodes;
    if (alternative.entry->workload->spec->partitions.size() == 1) {
        nodes -= blocked_;
        return nodes;
    }
    for (std::size_t partition = 0; partition < blockers_.size(); ++partition) {
        const bool by_others = std::ranges::any_of(
            blockers_[partition],
            [&](model::WorkloadId blocker) { return blocker != alternative.workload; });
        if (by_others) nodes -= index_.partition_nodes()[partition];
    }
    return nodes;
}

void Pass::note(const Alternative& alternative, const model::VerdictPtr& verdict) {
    model::VerdictPtr& noted = plan_.verdicts[alternative.workload];
    if (noted == nullptr || hope(verdict->wait) > hope(noted->wait)) noted = verdict;
}

model::VerdictPtr Pass::verdict(const Alternative& alternative,
                                const Seen& seen,
                                model::Wait why,
                                std::optional<Millis> starts_in) {
    if (!budget_.verdicts) return explain(why);
    const std::uint32_t partition = alternative.partition;
    const Waiting& waiting = waiting_[partition];
    Ahead ahead;
    ahead.count = waiting.count;
    if (waiting.first != nullptr) {
        ahead.first = waiting.first->id;
        ahead.first_name = name_of(*waiting.first);
    }
    const bool never = why == model::Wait::NeverFits || why == model::Wait::NodesUnavailable;
    const auto fitting = [&](const NodeSet& nodes, const Room& room) {
        return seen.request.unsupported.empty()
                   ? count_fitting_nodes(index_, seen.request, nodes, room)
                   : 0U;
    };
    NodeSet unavailable = configured_[partition];
    unavailable -= usable_[partition];
    return explain(Question{
        .wait = why,
        .index = index_,
        .request = seen.request,
        .partition = partition,
        .free = free_amounts(partition),
        .total = total_amounts(partition),
        .fitting_nodes = never ? 0 : fitting(usable_[partition], timeline_.free_now()),
        // Counted only where the sentence needs it.
        .possible_nodes = never ? fitting(configured_[partition], idle())
                                : static_cast<std::uint32_t>(total_amounts(partition).nodes),
        .ahead = std::move(ahead),
        .starts_in = starts_in,
        .unavailable = unavailable,
    });
}

Room& Pass::idle() {
    if (!idle_) idle_ = Room::idle(index_);
    return *idle_;
}

const Amounts& Pass::free_amounts(std::uint32_t partition) {
    const auto found = free_amounts_.find(partition);
    if (found != free_amounts_.end()) return found->second;
    return free_amounts_.emplace(partition, sum_up(timeline_.free_now(), usable_[partition]))
        .first->second;
}

const Amounts& Pass::total_amounts(std::uint32_t partition) {
    const auto found = total_amounts_.find(partition);
    if (found != total_amounts_.end()) return found->second;
    return total_amounts_.emplace(partition, sum_up(idle(), configured_[partition])).first->second;
}

}  // namespace twinyard::sched
