#include "controller/core/derive.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "model/ledger.h"

namespace twinyard::controller {
namespace {

using model::EndKind;
using model::MemberState;
using model::Workload;
using model::WorkloadState;

api::StopReason stop_reason(const model::WorkloadStatus& status) {
    switch (status.outcome.kind) {
        case EndKind::Cancelled:
            return status.requeue_at_end ? api::StopReason::Shutdown : api::StopReason::Cancelled;
        case EndKind::TimeLimit:
        case EndKind::Deadline:
            return api::StopReason::TimeLimit;
        case EndKind::Preempted:
            return api::StopReason::Preempted;
        case EndKind::NodeFailed:
            return api::StopReason::NodeDown;
        case EndKind::LaunchFailed:
            return api::StopReason::LaunchFailed;
        default:
            return api::StopReason::GangEnded;
    }
}

api::Stage stage_of(WorkloadState state) {
    if (state == WorkloadState::Starting) return api::Stage::Prepare;
    return state == WorkloadState::Completing ? api::Stage::Stop : api::Stage::Go;
}

/// What the agents enforce: the limit and what the site adds to it.
std::optional<Millis> order_limit(const model::ClusterConfig& config, const Workload& workload) {
    const std::optional<Millis> limit = effective_limit(config, workload);
    if (!limit || !config.limits.over_time_limit) return std::nullopt;
    return *limit + *config.limits.over_time_limit;
}

/// Fully told once all are known; emulated nodes start nothing that could ask.
api::GangFacts gang_facts(const Core::State& state, const Workload& workload, bool with_addresses) {
    api::GangFacts facts;
    const auto& grants = workload.placement->grants;
    for (std::size_t i = 0; i < grants.size(); ++i) {
        const model::Node* node = find(state.view, grants[i].node);
        facts.nodes.push_back(node == nullptr ? std::string() : node->name);
        facts.members.push_back(grants[i].member_count);
        facts.cpus.push_back(static_cast<std::uint32_t>(
            grants[i].cpus.empty() ? (grants[i].cpu_milli + 999) / 1000
                                   : static_cast<std::int64_t>(grants[i].cpus.size())));
        facts.devices.push_back(static_cast<std::uint32_t>(grants[i].devices.size()));
        if (with_addresses) facts.addresses.push_back(workload.status.runs[i].address);
    }
    return facts;
}

std::string job_secret(const Core::State& state, const Workload& workload) {
    return to_hex(content_hash(state.settings.cluster_secret + "/" +
                               std::to_string(workload.id.value()) + "/" +
                               std::to_string(workload.status.attempt)));
}

void fill_order(const Core::State& state,
                const Workload& workload,
                const Active& active,
                api::LaunchOrder& order) {
    const model::WorkloadSpec& spec = *workload.spec;
    const model::Node* node = find(state.view, active.node);
    order.job = workload.job;
    order.name = spec.name;
    order.queue = spec.queue;
    order.qos = spec.qos;
    order.partition = workload.placement->partition;
    order.cluster = state.view.config->cluster_name;
    order.uid = spec.uid;
    order.gid = spec.gid;
    order.restarts = workload.status.restarts;
    order.grant_index = *active.index;
    order.grant = *active.grant;
    for (const std::uint16_t device : active.grant->devices) {
        const bool known = node != nullptr && device < node->capacity.devices.size();
        order.device_class_paths.push_back(known ? node->capacity.devices[device].class_path : "");
    }
    if (node == nullptr || !node->emulated)
        order.gang = gang_facts(state, workload, active.stage == api::Stage::Go);
    order.launch = spec.launch;
    order.time_limit = active.limit;
    order.started_wall = workload.status.started_wall;
    order.emulated_runtime = spec.emulated_runtime;
    order.emulated_exit = spec.emulated_exit;
    order.secret = job_secret(state, workload);
}

std::uint64_t light_digest(const Active& active) {
    api::DesiredRun run;
    run.stage = active.stage;
    run.launch.key = active.key;
    run.launch.time_limit = active.limit;
    return api::desired_digest(run);
}

void book(Core::State& state, const Active& active, const model::WorkloadSpec& spec) {
    model::NodeUse use = use_of(state, active.node);
    model::take(use, *active.grant, spec);
    if (active.ending()) ++use.completing;
    state.view.uses.put(active.node.value(), std::move(use));
    state.nodes[active.node].digest.reset();
}

void unbook(Core::State& state, const Active& active, const model::WorkloadSpec& spec) {
    model::NodeUse use = use_of(state, active.node);
    if (active.ending()) --use.completing;
    model::give_back(use, *active.grant, spec);
    if (use.grants == 0)
        state.view.uses.erase(active.node.value());
    else
        state.view.uses.put(active.node.value(), std::move(use));
    state.nodes[active.node].digest.reset();
}

void rebook_changed(Core::State& state, const Active& before, const Active& after) {
    if (before.stage == after.stage && before.limit == after.limit) return;
    NodeRuntime& runtime = state.nodes[after.node];
    runtime.digest.reset();
    if (before.ending() == after.ending()) return;
    model::NodeUse use = use_of(state, after.node);
    use.completing += after.ending() ? 1U : static_cast<std::uint32_t>(-1);
    state.view.uses.put(after.node.value(), std::move(use));
}

bool same_launches(const std::vector<Active>& a, const std::vector<Active>& b) {
    return std::ranges::equal(
        a, b, [](const Active& x, const Active& y) { return x.key == y.key && x.node == y.node; });
}

std::vector<Active> sorted_by_key(std::vector<Active> list) {
    std::ranges::sort(list, {}, &Active::key);
    return list;
}

/// Gives back what is over before it takes what is new: a requeued job may get its own devices.
void index_launches(Core::State& state, const Workload* old, const Workload* now) {
    const model::ClusterConfig& config = *state.view.config;
    std::vector<Active> before = old == nullptr ? std::vector<Active>() : actives(config, *old);
    std::vector<Active> after = now == nullptr ? std::vector<Active>() : actives(config, *now);
    if (!same_launches(before, after)) {
        before = sorted_by_key(std::move(before));
        after = sorted_by_key(std::move(after));
    }
    const auto has = [](const std::vector<Active>& sorted, const api::LaunchKey& key) {
        return std::ranges::binary_search(sorted, key, {}, &Active::key);
    };
    if (same_launches(before, after)) {
        for (std::size_t i = 0; i < after.size(); ++i)
            rebook_changed(state, before[i], after[i]);
        return;
    }
    for (const Active& active : before) {
        if (has(after, active.key)) continue;
        unbook(state, active, *old->spec);
        state.nodes[active.node].work.erase(old->id);
    }
    for (const Active& active : after) {
        const auto was = std::ranges::lower_bound(before, active.key, {}, &Active::key);
        if (was != before.end() && was->key == active.key)
            rebook_changed(state, *was, active);
        else
            book(state, active, *now->spec);
    }
    // A workload may have two launches on a node: put back what the other one still needs.
    for (const Active& active : after)
        state.nodes[active.node].work.insert(now->id);
}

void index_references(Core::State& state, const Workload* old, const Workload* now) {
    const auto before = old == nullptr ? nullptr : old->placement;
    const auto after = now == nullptr ? nullptr : now->placement;
    if (before == after) return;
    if (after != nullptr) {
        for (const model::NodeGrant& grant : after->grants)
            ++state.nodes[grant.node].references;
    }
    if (before == nullptr) return;
    for (const model::NodeGrant& grant : before->grants)
        --state.nodes[grant.node].references;
}

void index_blob(Core::State& state, const ContentHash& hash, bool add) {
    if (hash.empty()) return;
    BlobUse& use = state.blobs[hash];
    if (add) {
        ++use.references;
        return;
    }
    CHECK(use.references > 0);
    if (--use.references == 0) state.unreferenced.insert(hash);
}

void index_blobs(Core::State& state, const Workload* old, const Workload* now) {
    if (old != nullptr && now != nullptr && old->spec == now->spec) return;
    for (const Workload* side : {now, old}) {
        if (side == nullptr) continue;
        index_blob(state, side->spec->launch.script, side == now);
        index_blob(state, side->spec->launch.environment, side == now);
    }
}

/// Waits for its begin time and for nothing else.
std::optional<WallTime> begin_awaited(const Workload* workload) {
    if (workload == nullptr || workload->status.state != WorkloadState::Pending ||
        workload->status.eligible != ClusterTime{} || workload->status.hold != model::Hold::None)
        return std::nullopt;
    return workload->spec->begin;
}

}  // namespace

api::LaunchKey launch_key(const Workload& workload,
                          model::Attempt attempt,
                          const model::NodeGrant& grant) {
    return {workload.id, attempt, grant.group, grant.first_member};
}

std::optional<Millis> effective_limit(const model::ClusterConfig& config,
                                      const Workload& workload) {
    if (workload.spec->time_limit) return workload.spec->time_limit;
    const std::vector<std::string>& named = workload.spec->partitions;
    if (workload.placement == nullptr && named.empty()) return std::nullopt;
    const model::Partition* partition = find_partition(
        config, workload.placement != nullptr ? workload.placement->partition : named.front());
    return partition == nullptr ? std::nullopt : default_limit(*partition);
}

std::vector<Active> actives(const model::ClusterConfig& config, const Workload& workload) {
    std::vector<Active> list;
    for (const model::FencedGrant& fenced : workload.status.fenced) {
        list.push_back({.node = fenced.grant.node,
                        .key = launch_key(workload, fenced.attempt, fenced.grant),
                        .grant = &fenced.grant,
                        .index = std::nullopt,
                        .stage = api::Stage::Stop,
                        .reason = api::StopReason::NodeDown,
                        .limit = std::nullopt});
    }
    if (!holds_resources(workload.status.state)) return list;
    const api::Stage stage = stage_of(workload.status.state);
    const bool stops = stage == api::Stage::Stop;
    const auto reason = stops ? stop_reason(workload.status) : api::StopReason::None;
    const auto limit = stops ? std::nullopt : order_limit(config, workload);
    for (std::uint32_t i = 0; i < workload.status.runs.size(); ++i) {
        if (workload.status.runs[i].state == MemberState::Ended) continue;
        const model::NodeGrant& grant = workload.placement->grants[i];
        list.push_back({.node = grant.node,
                        .key = launch_key(workload, workload.status.attempt, grant),
                        .grant = &grant,
                        .index = i,
                        .stage = stage,
                        .reason = reason,
                        .limit = limit});
    }
    return list;
}

api::DesiredRun stop_run(const Core::State& state,
                         const api::LaunchKey& key,
                         api::StopReason reason) {
    api::DesiredRun run;
    run.stage = api::Stage::Stop;
    run.reason = reason;
    run.kill_wait = state.view.config->limits.kill_wait;
    run.launch.key = key;
    return run;
}

api::DesiredRun desired_run(const Core::State& state,
                            const Workload& workload,
                            const Active& active) {
    api::DesiredRun run = stop_run(state, active.key, active.reason);
    run.stage = active.stage;
    run.by_uid = workload.status.outcome.by_uid;
    if (!active.ending()) fill_order(state, workload, active, run.launch);
    return run;
}

std::uint64_t node_digest(const Core::State& state, model::NodeId node) {
    const auto runtime = state.nodes.find(node);
    if (runtime == state.nodes.end()) return 0;
    std::uint64_t sum = 0;
    for (const api::LaunchKey& key : runtime->second.strays)
        sum += api::desired_digest(stop_run(state, key, api::StopReason::GangEnded));
    for (const model::WorkloadId id : runtime->second.work) {
        for (const Active& active : actives(*state.view.config, *find(state.view, id))) {
            if (active.node == node) sum += light_digest(active);
        }
    }
    return sum;
}

std::optional<ClusterTime> due(const Core::State& state, const Workload& workload) {
    const model::WorkloadStatus& status = workload.status;
    const model::ClusterConfig& config = *state.view.config;
    if (status.state == WorkloadState::Pending) {
        if (status.not_before == ClusterTime{}) return std::nullopt;
        return status.not_before;
    }
    if (status.state == WorkloadState::Running) {
        const std::optional<Millis> limit = order_limit(config, workload);
        if (!limit) return std::nullopt;
        return status.started + status.suspended_total + *limit + kLimitGrace;
    }
    const bool may_leave = status.state == WorkloadState::Done && status.fenced.empty() &&
                           !state.outbox_rows.contains(workload.id);
    if (!may_leave) return std::nullopt;
    return status.ended + config.limits.min_job_age;
}

void set_timer(Core::State& state, model::WorkloadId id, std::optional<ClusterTime> at) {
    const auto was = state.timer_of.find(id);
    if (was != state.timer_of.end()) {
        if (at == was->second) return;
        state.timers.erase({was->second, id});
        state.timer_of.erase(was);
    }
    if (!at) return;
    state.timers.emplace(*at, id);
    state.timer_of.emplace(id, *at);
}

void index_workload(Core::State& state, const Workload* old, const Workload* now) {
    const Workload& either = now != nullptr ? *now : *old;
    index_launches(state, old, now);
    index_references(state, old, now);
    index_blobs(state, old, now);
    if (either.job && (old == nullptr || now == nullptr)) {
        if (now != nullptr)
            state.view.jobs.put(now->job.value(), now->id);
        else
            state.view.jobs.erase(old->job.value());
    }
    if (const auto begin = begin_awaited(old)) state.begins.erase({*begin, old->id});
    if (const auto begin = begin_awaited(now)) state.begins.emplace(*begin, now->id);
    set_timer(state, either.id, now == nullptr ? std::nullopt : due(state, *now));
}

void index_node(Core::State& state, const model::Node* old, const model::Node* now) {
    if (old != nullptr) {
        state.node_names.erase(old->name);
        state.unconfigured.erase(old->id);
    }
    if (now == nullptr) return;
    state.node_names[now->name] = now->id;
    if (!now->configured) state.unconfigured.insert(now->id);
    state.nodes.try_emplace(now->id);
}

model::NodeUse use_of(const Core::State& state, model::NodeId node) {
    const model::NodeUse* use = state.view.uses.find(node.value());
    return use == nullptr ? model::NodeUse{} : *use;
}

}  // namespace twinyard::controller
