// Listing rows of jobs. What a spec asks for and what a placement gives are told apart: pending
// jobs show the least they need, others what they hold.
#include "slurm/rows.h"

#include <algorithm>
#include <set>

#include "base/duration_text.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/tres.h"
#include "slurm/environment.h"
#include "slurm/file_pattern.h"
#include "slurm/translate.h"
#include "slurm/tres_text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

/// What users wrote is shown to others: no line breaks of their own and no words to a terminal.
std::string one_line(const std::string& text) {
    constexpr std::size_t kWhole = std::size_t{8} << 20;
    return printable(text, kWhole);
}

using api::JobRow;
using model::Placement;
using model::Snapshot;
using model::TaskGroup;
using model::Workload;
using model::WorkloadSpec;
using model::WorkloadState;

std::int64_t unix_ms(WallTime time) {
    return time.time_since_epoch().count();
}

std::string node_name(const Snapshot& snapshot, model::NodeId id) {
    const model::Node* node = find(snapshot, id);
    return node == nullptr ? "node-" + std::to_string(id.value()) : node->name;
}

/// Names of the nodes in order of the grants, each once.
std::vector<std::string> names_of(const Snapshot& snapshot, const Placement& placement) {
    std::vector<std::string> names;
    std::set<model::NodeId> seen;
    for (const model::NodeGrant& grant : placement.grants) {
        if (seen.insert(grant.node).second) names.push_back(node_name(snapshot, grant.node));
    }
    return names;
}

std::optional<Millis> limit_there(const Snapshot& snapshot, const Workload& workload) {
    const std::string& name = workload.placement ? workload.placement->partition
                              : workload.spec->partitions.empty()
                                  ? std::string()
                                  : workload.spec->partitions.front();
    const model::Partition* partition =
        snapshot.config == nullptr ? nullptr : find_partition(*snapshot.config, name);
    std::optional<Millis> limit = limit_of(
        *workload.spec, partition == nullptr ? std::nullopt : model::default_limit(*partition));
    if (limit && *limit >= kNoTimeLimit) limit.reset();
    return limit;
}

void set_times(JobRow& row, const Snapshot& snapshot, const Workload& workload, ClusterTime now) {
    const model::WorkloadStatus& status = workload.status;
    row.submit_ms = unix_ms(status.submitted_wall);
    row.eligible_ms = unix_ms(status.eligible_wall);
    row.start_ms = unix_ms(status.started_wall);
    const std::optional<Millis> limit = limit_there(snapshot, workload);
    row.time_limit_s =
        limit ? std::chrono::duration_cast<Seconds>(*limit).count() : std::int64_t{-1};
    if (workload.spec->time_min) {
        row.time_min_s = std::chrono::duration_cast<Seconds>(*workload.spec->time_min).count();
    }
    if (status.state == WorkloadState::Done) {
        row.end_ms = unix_ms(status.ended_wall);
        if (row.start_ms > 0) {
            row.run_time_ms = (status.ended - status.started - status.suspended_total).count();
        }
    } else if (status.state != WorkloadState::Pending && row.start_ms > 0) {
        row.run_time_ms = (now - status.started - status.suspended_total).count();
        if (limit) row.end_ms = row.start_ms + (*limit + status.suspended_total).count();
    } else if (status.state == WorkloadState::Pending) {
        row.start_ms = 0;
    }
    row.run_time_ms = std::max<std::int64_t>(row.run_time_ms, 0);
    if (row.eligible_ms == 0 && workload.spec->begin)
        row.eligible_ms = unix_ms(*workload.spec->begin);
}

std::string absolute(const std::string& folder, std::string path) {
    if (path.empty() || path.front() == '/') return path;
    return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

void set_files(JobRow& row, const Workload& workload, const JobFacts& facts) {
    const model::LaunchSpec& launch = workload.spec->launch;
    const std::string user =
        facts.user_name.empty() ? std::to_string(workload.spec->uid) : facts.user_name;
    PatternFacts pattern;
    pattern.job = workload.job.value();
    pattern.node = row.batch_host;
    pattern.restarts = workload.status.restarts;
    pattern.user = user;
    pattern.job_name = workload.spec->name;
    const auto path = [&](std::string_view text) {
        return absolute(launch.work_dir, expand_file_pattern(text, pattern));
    };
    row.work_dir = launch.work_dir;
    row.std_in = launch.std_in.empty() ? "/dev/null" : path(launch.std_in);
    row.std_out = path(launch.std_out.empty() ? kDefaultOutput : launch.std_out);
    row.std_err = launch.std_err.empty() ? row.std_out : path(launch.std_err);
    row.command = one_line(launch.command);
    row.submit_line = one_line(launch.submit_line);
    row.submit_host = one_line(launch.submit_host);
}

std::string term_text(const model::NodeTerm& term) {
    std::vector<std::string> words;
    for (const model::LabelTest& test : term.all)
        words.push_back(test.key);
    return join(words, "&");
}

std::string features_text(const model::Where& where) {
    std::vector<std::string> terms;
    for (const model::NodeTerm& term : where.any_of)
        terms.push_back(term_text(term));
    const std::string text = join(terms, "|");
    return where.same_alternative ? "[" + text + "]" : text;
}

std::uint32_t least_nodes(const TaskGroup& group) {
    std::uint32_t nodes = std::max<std::uint32_t>(group.nodes.min, 1);
    if (group.members_per_node.max != model::kNoMaximum && group.members_per_node.max > 0) {
        const std::uint32_t most = group.members_per_node.max;
        nodes = std::max(nodes, group.members.min / most + (group.members.min % most != 0));
    }
    return nodes;
}

/// What was asked of one group, as scontrol shows it.
void set_request(JobRow& row, const WorkloadSpec& spec) {
    if (spec.groups.empty()) return;
    const TaskGroup& group = spec.groups.front();
    row.tasks = group.members.min;
    row.nodes_min = group.nodes.min;
    row.nodes_max = group.nodes.max == model::kNoMaximum ? 0 : group.nodes.max;
    row.nodes = least_nodes(group);
    row.cpus_per_task = static_cast<std::uint32_t>(
        std::max<std::int64_t>((group.per_member.cpu_milli + 999) / 1000, 1));
    for (const auto& [name, value] : spec.launch.extra_environment) {
        const Result<std::int64_t> number = parse_number<std::int64_t>(value);
        if (!number) continue;
        if (name == "SLURM_NTASKS_PER_NODE") {
            row.ntasks_per_node = static_cast<std::uint32_t>(*number);
        }
        if (name == "SLURM_MEM_PER_CPU") row.mem_per_cpu_mb = *number;
    }
    if (row.mem_per_cpu_mb < 0) {
        row.mem_per_node_mb = group.per_node.memory_bytes > 0
                                  ? (group.per_node.memory_bytes + kMiB - 1) / kMiB
                                  : std::int64_t{0};
    }
    row.tres_per_node = devices_text(group.per_node.devices);
    row.tres_per_job = devices_text(group.total.devices);
    row.tres_per_task = devices_text(group.per_member.devices);
    row.required_nodes = fold_hostlist(group.where.include);
    row.excluded_nodes = fold_hostlist(group.where.exclude);
    row.features = features_text(group.where);
    row.exclusive = group.share == model::Share::WholeNode;
    row.oversubscribe = row.exclusive                           ? "NO"
                        : group.share == model::Share::SameUser ? "USER"
                                                                : "OK";
    row.req_tres = model::amounts_text(model::requested_amounts(spec));
}

JobRow::Grant make_grant(const Snapshot& snapshot, const model::NodeGrant& grant) {
    JobRow::Grant out;
    out.node = node_name(snapshot, grant.node);
    out.cpus = grant.cpus;
    out.devices = grant.devices;
    out.memory_mb = (grant.memory_bytes + kMiB - 1) / kMiB;
    if (const model::Node* node = find(snapshot, grant.node)) {
        out.gres = granted_gres(node->capacity.devices, grant.devices);
    }
    return out;
}

void set_placement(JobRow& row, const Snapshot& snapshot, const Workload& workload, bool detail) {
    const Placement& placement = *workload.placement;
    const std::vector<std::string> names = names_of(snapshot, placement);
    row.nodes = static_cast<std::uint32_t>(names.size());
    row.node_list = fold_hostlist(names);
    row.batch_host = names.empty() ? "" : names.front();
    const model::Amounts granted = model::granted_amounts(placement, snapshot.nodes);
    row.cpus = static_cast<std::uint32_t>(granted.cpus);
    row.alloc_tres = model::amounts_text(granted);
    std::vector<model::Device> given;
    for (const model::NodeGrant& grant : placement.grants) {
        const model::Node* node = find(snapshot, grant.node);
        row.emulated |= node != nullptr && node->emulated;
        for (const std::uint16_t device : grant.devices) {
            if (node != nullptr && device < node->capacity.devices.size())
                given.push_back(node->capacity.devices[device]);
        }
        if (detail) row.grants.push_back(make_grant(snapshot, grant));
    }
    if (detail) row.gres_used = given.empty() ? "" : gres_text(given);
}

void set_forecast(JobRow& row, const Snapshot& snapshot, const JobFacts& facts) {
    if (facts.expected_start) {
        row.expected_start_ms =
            unix_ms(snapshot.wall) + (*facts.expected_start - snapshot.time).count();
    }
    std::vector<std::string> names;
    for (const model::NodeId id : facts.expected_nodes)
        names.push_back(node_name(snapshot, id));
    row.expected_nodes = fold_hostlist_sorted(names);
}

template <class T>
bool empty_or_has(const std::vector<T>& list, const T& value) {
    return list.empty() || std::ranges::find(list, value) != list.end();
}

bool any_in(const std::vector<std::string>& list, const std::vector<std::string>& values) {
    return list.empty() || std::ranges::any_of(values, [&](const std::string& value) {
               return std::ranges::find(list, value) != list.end();
           });
}

bool on_nodes(const std::vector<std::string>& list,
              const Snapshot& snapshot,
              const Workload& workload) {
    if (list.empty()) return true;
    if (workload.placement == nullptr || workload.status.state == WorkloadState::Pending) {
        return false;
    }
    return any_in(list, names_of(snapshot, *workload.placement));
}

std::vector<std::string> partitions_of(const Workload& workload) {
    const bool placed = workload.placement && workload.status.state != WorkloadState::Pending;
    return placed ? std::vector{workload.placement->partition} : workload.spec->partitions;
}

bool has_state(const std::vector<std::string>& states, const Workload& workload) {
    return states.empty() || std::ranges::any_of(states, [&](const std::string& word) {
               return word == job_state(workload);
           });
}

}  // namespace

JobRow make_job_row(const Snapshot& snapshot, const Workload& workload, const JobFacts& facts) {
    const WorkloadSpec& spec = *workload.spec;
    const model::WorkloadStatus& status = workload.status;
    JobRow row;
    row.job = workload.job.value();
    row.workload = workload.id.value();
    row.name = spec.name;
    row.account = spec.queue;
    row.qos = spec.qos;
    row.partition = join(partitions_of(workload), ",");
    row.uid = spec.uid;
    row.gid = spec.gid;
    row.state = job_state(workload);
    row.base_state = base_state(workload);
    row.reason = reason_of(workload, facts.verdict, snapshot.config.get());
    if (facts.verdict != nullptr && status.state == WorkloadState::Pending) {
        row.explanation = facts.verdict->text;
    }
    row.held = status.hold != model::Hold::None;
    row.priority = row.held ? 0 : facts.priority;
    row.nice = spec.nice;
    set_times(row, snapshot, workload, facts.now.value_or(snapshot.time));
    set_request(row, spec);
    row.cpus = static_cast<std::uint32_t>(model::requested_amounts(spec).cpus);
    const bool placed = workload.placement && status.state != WorkloadState::Pending;
    if (placed) set_placement(row, snapshot, workload, facts.with_detail);
    set_forecast(row, snapshot, facts);
    set_files(row, workload, facts);
    row.exit_code = status.outcome.exit_code;
    row.exit_signal = status.outcome.signal;
    row.restarts = status.restarts;
    row.requeue = spec.requeue_allowed;
    row.batch = !spec.launch.script.empty();
    row.comment = one_line(spec.comment);
    return row;
}

bool matches(const api::JobQuery& query, const Snapshot& snapshot, const Workload& workload) {
    if (workload.spec->door != model::Door::Slurm) return false;
    if (!empty_or_has(query.jobs, workload.job.value())) return false;
    if (!empty_or_has(query.uids, workload.spec->uid)) return false;
    if (!empty_or_has(query.names, workload.spec->name)) return false;
    if (!empty_or_has(query.accounts, workload.spec->queue)) return false;
    if (!empty_or_has(query.qos, workload.spec->qos)) return false;
    if (!any_in(query.partitions, partitions_of(workload))) return false;
    if (!query.all_states) {
        if (!has_state(query.states, workload)) return false;
        if (query.states.empty() && is_finished_state(job_state(workload))) return false;
    }
    return on_nodes(query.nodes, snapshot, workload);
}

bool matches(const api::JobTargets& targets, const Snapshot& snapshot, const Workload& workload) {
    if (workload.spec->door != model::Door::Slurm) return false;
    const bool no_filter = targets.jobs.empty() && targets.names.empty() &&
                           targets.partitions.empty() && targets.accounts.empty() &&
                           targets.qos.empty() && targets.states.empty() && targets.nodes.empty() &&
                           targets.uids.empty();
    if (no_filter) return false;
    if (targets.jobs.empty() && workload.status.state == WorkloadState::Done) return false;
    return empty_or_has(targets.jobs, workload.job.value()) &&
           empty_or_has(targets.uids, workload.spec->uid) &&
           empty_or_has(targets.names, workload.spec->name) &&
           empty_or_has(targets.accounts, workload.spec->queue) &&
           empty_or_has(targets.qos, workload.spec->qos) &&
           any_in(targets.partitions, partitions_of(workload)) &&
           has_state(targets.states, workload) && on_nodes(targets.nodes, snapshot, workload);
}

}  // namespace twinyard::slurm
