// `scontrol update`: keys as users write them, in any case and with Slurm's other spellings.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/duration_text.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "controller/shell/cluster_clock.h"
#include "controller/shell/slurm_door.h"
#include "slurm/begin_time.h"
#include "slurm/errors.h"

namespace twinyard::controller {
namespace {

using slurm::Refusal;

struct JobKey {
    std::string_view name;
    Status (*set)(api::Update&, const std::string& value, const model::Snapshot&);
};

Status set_time_limit(api::Update& update,
                      const std::string& value,
                      const model::Snapshot& snapshot) {
    // "+10" and "-10" are relative to what it has.
    const bool relative = value.starts_with('+') || value.starts_with('-');
    const bool unlimited = value == "-1";
    const auto limit = parse_time_limit(relative && !unlimited ? std::string_view(value).substr(1)
                                                               : std::string_view(value));
    if (!limit) return slurm::refuse(Refusal::InvalidTimeLimit);
    if (!relative || unlimited) {
        update.time_limit = *limit == kUnlimited
                                ? std::nullopt
                                : std::optional<Millis>(round_up_to_minutes(*limit));
        return {};
    }
    const model::Workload* workload = model::find(snapshot, update.target);
    if (workload == nullptr || !workload->spec->time_limit || *limit == kUnlimited) {
        return slurm::refuse(Refusal::InvalidTimeLimit);
    }
    const Millis change = value.front() == '+' ? Millis(*limit) : -Millis(*limit);
    update.time_limit = std::max(Millis{60'000}, *workload->spec->time_limit + change);
    return {};
}

Status set_priority(api::Update& update, const std::string& value, const model::Snapshot&) {
    const auto number = parse_number<std::uint32_t>(value);
    if (!number)
        return fail(ErrorCode::InvalidArgument, "Invalid Priority value: " + printable(value, 40));
    update.priority = *number;
    return {};
}

Status set_nice(api::Update& update, const std::string& value, const model::Snapshot&) {
    const auto number = parse_number<std::int32_t>(value);
    if (!number)
        return fail(ErrorCode::InvalidArgument, "Invalid nice value: " + printable(value, 40));
    update.nice = *number;
    return {};
}

Status set_partition(api::Update& update,
                     const std::string& value,
                     const model::Snapshot& snapshot) {
    std::vector<std::string> names;
    for (const std::string_view name : split(value, ',')) {
        if (model::find_partition(*snapshot.config, name) == nullptr)
            return slurm::refuse(Refusal::InvalidPartition);
        names.emplace_back(name);
    }
    update.partitions = std::move(names);
    return {};
}

Status set_qos(api::Update& update, const std::string& value, const model::Snapshot& snapshot) {
    if (model::find_qos(*snapshot.config, value) == nullptr)
        return slurm::refuse(Refusal::InvalidQos);
    update.qos = value;
    return {};
}

Status set_begin(api::Update& update, const std::string& value, const model::Snapshot&) {
    const auto now = std::chrono::duration_cast<Seconds>(RunningClock::wall().time_since_epoch());
    const auto at = slurm::parse_time_word(value, now.count(), slurm::system_calendar());
    if (!at) return fail(at.error());
    update.begin = std::optional<WallTime>(WallTime(Seconds(*at)));
    return {};
}

Status set_requeue(api::Update& update, const std::string& value, const model::Snapshot&) {
    if (value != "0" && value != "1")
        return fail(ErrorCode::InvalidArgument, "Requeue is 0 or 1, not " + printable(value, 40));
    update.requeue_allowed = value == "1";
    return {};
}

Status set_num_nodes(api::Update& update,
                     const std::string& value,
                     const model::Snapshot& snapshot) {
    const model::Workload* workload = model::find(snapshot, update.target);
    if (workload == nullptr) return slurm::refuse(Refusal::InvalidJobId);
    const std::size_t dash = value.find('-');
    const auto low = parse_number<std::uint32_t>(std::string_view(value).substr(0, dash));
    const auto high = dash == std::string::npos
                          ? low
                          : parse_number<std::uint32_t>(std::string_view(value).substr(dash + 1));
    if (!low || !high || *low == 0 || *high < *low) return slurm::refuse(Refusal::InvalidNodeCount);
    update.groups = workload->spec->groups;
    model::TaskGroup& group = update.groups->front();
    group.nodes = {*low, *high};
    const model::Range per_node = group.members_per_node;
    if (per_node.min == per_node.max) {  // Their number follows the nodes.
        group.members = {*low * per_node.min, *high * per_node.min};
    } else {
        group.members.min = std::max(group.members.min, *low);
        group.members.max = std::max(group.members.max, group.members.min);
    }
    return {};
}

constexpr auto kJobKeys = std::to_array<JobKey>({
    {"timelimit", set_time_limit},
    {"priority", set_priority},
    {"nice", set_nice},
    {"partition", set_partition},
    {"partitionname", set_partition},
    {"qos", set_qos},
    {"starttime", set_begin},
    {"eligibletime", set_begin},
    {"requeue", set_requeue},
    {"numnodes", set_num_nodes},
    {"reqnodes", set_num_nodes},
    {"name",
     [](api::Update& u, const std::string& v, const model::Snapshot&) -> Status {
         u.name = v;
         return {};
     }},
    {"jobname",
     [](api::Update& u, const std::string& v, const model::Snapshot&) -> Status {
         u.name = v;
         return {};
     }},
    {"comment",
     [](api::Update& u, const std::string& v, const model::Snapshot&) -> Status {
         u.comment = v;
         return {};
     }},
    {"account",
     [](api::Update& u, const std::string& v, const model::Snapshot&) -> Status {
         u.queue = v;
         return {};
     }},
});

bool is_job_id(std::string_view key) {
    return key == "jobid" || key == "job";
}

Result<model::WorkloadId> target_of(const api::UpdateRequest& request,
                                    const model::Snapshot& snapshot) {
    for (const auto& [key, value] : request.settings) {
        if (!is_job_id(to_lower(key))) continue;
        const auto number = parse_number<std::uint32_t>(value);
        const model::WorkloadId* id = number ? snapshot.jobs.find(*number) : nullptr;
        if (id == nullptr) return slurm::refuse(Refusal::InvalidJobId);
        return *id;
    }
    return fail(ErrorCode::InvalidArgument, "No job id specified");
}

}  // namespace

Result<api::Command> job_update(const api::UpdateRequest& request,
                                const model::Snapshot& snapshot) {
    api::Update update;
    TRY(update.target, target_of(request, snapshot));
    for (const auto& [key, value] : request.settings) {
        const std::string lower = to_lower(key);
        if (is_job_id(lower)) continue;
        const auto row = std::ranges::find(kJobKeys, lower, &JobKey::name);
        if (row == kJobKeys.end()) {
            return fail(ErrorCode::InvalidArgument,
                        "Update of this parameter is not supported: " + printable(key, 60) + "=" +
                            printable(value, 60));
        }
        TRY_STATUS(row->set(update, value, snapshot));
    }
    return update;
}

namespace {

Result<std::vector<std::string>> nodes_named(const std::string& value,
                                             const model::Snapshot& snapshot) {
    std::vector<std::string> all;
    snapshot.nodes.for_each(
        [&](std::uint64_t, const model::NodePtr& node) { all.push_back(node->name); });
    if (to_lower(value) == "all") return all;
    TRY(std::vector<std::string> names, expand_hostlist(value));
    for (const std::string& name : names) {
        if (std::ranges::find(all, name) == all.end())
            return slurm::refuse(Refusal::InvalidNodeName);
    }
    return names;
}

Result<api::NodeAction> action_of(const std::string& value) {
    const std::string state = to_lower(value);
    if (state == "drain" || state == "drained" || state == "draining")
        return api::NodeAction::Drain;
    if (state == "undrain") return api::NodeAction::Undrain;
    if (state == "down") return api::NodeAction::Down;
    if (state == "resume" || state == "idle") return api::NodeAction::Resume;
    return slurm::refuse(Refusal::InvalidNodeState);
}

}  // namespace

Result<NodeUpdate> node_update(const api::UpdateRequest& request, const model::Snapshot& snapshot) {
    NodeUpdate update;
    for (const auto& [key, value] : request.settings) {
        const std::string lower = to_lower(key);
        if (lower == "nodename") {
            TRY(update.names, nodes_named(value, snapshot));
        } else if (lower == "state") {
            TRY(update.change.action, action_of(value));
        } else if (lower == "reason") {
            update.change.reason = value;
        } else if (lower == "weight") {
            const auto number = parse_number<std::uint32_t>(value);
            if (!number)
                return fail(ErrorCode::InvalidArgument,
                            "Invalid Weight value: " + printable(value, 40));
            update.change.weight = *number;
        } else if (lower == "availablefeatures" || lower == "features") {
            std::vector<std::string> features;
            for (const std::string_view feature : split(value, ','))
                features.emplace_back(feature);
            update.change.features = std::move(features);
        } else {
            return fail(ErrorCode::InvalidArgument,
                        "Update of this parameter is not supported: " + printable(key, 60) + "=" +
                            printable(value, 60));
        }
    }
    if (update.names.empty()) return slurm::refuse(Refusal::InvalidNodeName);
    const bool needs_reason = update.change.action == api::NodeAction::Drain ||
                              update.change.action == api::NodeAction::Down;
    if (needs_reason && (!update.change.reason || update.change.reason->empty())) {
        return fail(ErrorCode::InvalidArgument,
                    "You must specify a reason when DOWNING or DRAINING a node. Request denied");
    }
    return update;
}

}  // namespace twinyard::controller
