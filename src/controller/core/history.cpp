#include <algorithm>
#include <string>
#include <vector>

#include "base/hostlist.h"
#include "base/text.h"
#include "controller/core/life.h"
#include "model/tres.h"

namespace twinyard::controller {
namespace {

using model::Workload;
using model::WorkloadState;

/// A queued one is counted under the attempt that it will be, so that its start replaces the row.
model::Attempt attempt_of(const Workload& workload) {
    return workload.status.attempt + (workload.placement == nullptr ? 1U : 0U);
}

std::vector<std::string> node_names(const Core::State& state, const model::Placement& placement) {
    std::vector<std::string> names;
    for (const model::NodeGrant& grant : placement.grants) {
        const model::Node* node = find(state.view, grant.node);
        if (node != nullptr && std::ranges::find(names, node->name) == names.end())
            names.push_back(node->name);
    }
    return names;
}

std::uint32_t task_count(const Workload& workload) {
    std::uint32_t tasks = 0;
    if (workload.placement != nullptr) {
        for (const model::NodeGrant& grant : workload.placement->grants)
            tasks += grant.member_count;
        return tasks;
    }
    for (const model::TaskGroup& group : workload.spec->groups)
        tasks += group.members.min;
    return tasks;
}

/// Who and what: the same in rows of jobs and of their steps.
api::AccountingRecord row_for(const Core::State& state, const Workload& workload) {
    const model::WorkloadSpec& spec = *workload.spec;
    api::AccountingRecord row;
    row.workload = workload.id;
    row.job = workload.job;
    row.attempt = attempt_of(workload);
    row.name = spec.name;
    row.queue = spec.queue;
    row.qos = spec.qos;
    row.cluster = state.view.config->cluster_name;
    row.uid = spec.uid;
    row.gid = spec.gid;
    row.partition =
        workload.placement != nullptr ? workload.placement->partition : join(spec.partitions, ",");
    return row;
}

void add_grants(const Core::State& state, const Workload& workload, api::AccountingRecord& row) {
    const bool placed = workload.placement != nullptr;
    const model::Amounts amounts =
        placed ? model::granted_amounts(*workload.placement, state.view.nodes)
               : model::requested_amounts(*workload.spec);
    row.cpus = amounts.cpus;
    row.memory_bytes = amounts.memory_bytes;
    row.nodes = static_cast<std::uint32_t>(amounts.nodes);
    row.req_tres = amounts_text(model::requested_amounts(*workload.spec));
    if (!placed) return;
    row.alloc_tres = amounts_text(amounts);
    row.node_list = fold_hostlist(node_names(state, *workload.placement));
}

}  // namespace

api::AccountingRecord job_record(const Core::State& state,
                                 const Workload& workload,
                                 bool requeued) {
    const model::WorkloadStatus& status = workload.status;
    api::AccountingRecord row = row_for(state, workload);
    row.state = requeued ? WorkloadState::Done : status.state;
    row.outcome = status.outcome;
    row.requeued = requeued;
    row.submitted = status.submitted_wall;
    row.eligible = status.eligible_wall;
    row.started = status.started_wall;
    row.ended = status.ended_wall;
    row.suspended = status.suspended_total;
    row.time_limit = effective_limit(*state.view.config, workload);
    row.tasks = task_count(workload);
    row.restarts = status.restarts;
    row.work_dir = workload.spec->launch.work_dir;
    row.submit_line = workload.spec->launch.submit_line;
    row.comment = workload.spec->comment;
    row.priority = workload.spec->priority.value_or(0);
    add_grants(state, workload, row);
    return row;
}

api::AccountingRecord batch_record(const Core::State& state,
                                   const Workload& workload,
                                   const api::ObservedRun& run) {
    api::AccountingRecord row = row_for(state, workload);
    row.attempt = run.key.attempt;
    row.step = api::kBatchStep;
    row.name = "batch";
    row.state = WorkloadState::Done;
    row.outcome = run.outcome;
    row.started = run.started_wall;
    row.ended = run.ended_wall;
    row.usage = run.usage;
    row.nodes = row.tasks = 1;
    if (workload.placement == nullptr || workload.placement->grants.empty()) return row;
    model::Placement first;
    first.grants = {workload.placement->grants.front()};
    const model::Amounts amounts = model::granted_amounts(first, state.view.nodes);
    row.cpus = amounts.cpus;
    row.memory_bytes = amounts.memory_bytes;
    row.alloc_tres = amounts_text(amounts);
    row.node_list = fold_hostlist(node_names(state, first));
    return row;
}

api::AccountingRecord step_record(const Core::State& state,
                                  const Workload& workload,
                                  const api::StepRecord& step) {
    api::AccountingRecord row = row_for(state, workload);
    row.attempt = step.key.attempt;
    row.step = static_cast<std::int32_t>(step.step);
    row.name = step.name;
    row.state = step.ended_wall == WallTime{} ? WorkloadState::Running : WorkloadState::Done;
    row.outcome = step.outcome;
    row.started = step.started_wall;
    row.ended = step.ended_wall;
    row.nodes = static_cast<std::uint32_t>(step.nodes.size());
    row.tasks = step.tasks;
    row.cpus = step.cpus;
    row.node_list = fold_hostlist(step.nodes);
    model::Amounts amounts{.cpus = step.cpus, .memory_bytes = 0, .nodes = row.nodes, .devices = {}};
    row.alloc_tres = amounts_text(amounts);
    row.usage = step.usage;
    return row;
}

}  // namespace twinyard::controller
