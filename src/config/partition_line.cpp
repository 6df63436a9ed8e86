#include "config/partition_line.h"

#include <array>

#include "config/memory_rule.h"

namespace twinyard::config {

namespace {

using L = PartitionLine;
using Row = Entry<PartitionLine>;
using model::MemoryRule;

constexpr std::string_view kNoPreemption = "nothing is preempted yet";
constexpr std::string_view kNoPower = "nodes are never powered up or down";
constexpr std::int64_t kFactorMax = 65533;

/// The old spelling of both.
Status set_priority(L& target, std::string_view text) {
    TRY_STATUS((set_number<&L::priority_job_factor, 0, kFactorMax>(target, text)));
    target.priority_tier = target.priority_job_factor;
    return {};
}

Status set_state(L& target, std::string_view text) {
    using model::PartitionState;
    TRY(const std::size_t choice, parse_choice(text, "UP,DOWN,DRAIN,INACTIVE"));
    constexpr std::array kStates = {
        PartitionState::Up, PartitionState::Down, PartitionState::Drain, PartitionState::Inactive};
    target.state = kStates[choice];
    return {};
}

Status set_over_subscribe(L& target, std::string_view text) {
    const auto count = split_once(text, ':');
    TRY(const std::size_t choice,
        parse_choice(count ? count->first : text, "NO,EXCLUSIVE,YES,FORCE"));
    if (count) {
        const auto jobs = parse_number<std::uint32_t>(count->second, 1, 0x7fff);
        if (!jobs) return fail(jobs.error());
    }
    target.over_subscribe = static_cast<OverSubscribe>(choice);
    return {};
}

Status set_exclusive(L& target, std::string_view text) {
    TRY(const std::size_t choice, parse_choice(text, "NO,NODE,USER,TOPO"));
    target.exclusive_node = choice == 1;
    target.exclusive_user = choice == 2;
    return {};
}

Status set_default_time(L& target, std::string_view text) {
    if (is_one_of(text, "none")) {
        target.default_time.reset();
        return {};
    }
    TRY(target.default_time, parse_time_limit(text));
    return {};
}

Status set_over_time(L& target, std::string_view text) {
    TRY(const std::optional<std::int64_t> minutes, parse_limit(text, 0, 65533));
    target.over_time_limit = minutes ? Seconds{60 * *minutes} : kUnlimited;
    return {};
}

/// A list of who may; ALL is everybody, which is what an empty list means.
template <auto Member>
Status set_allowed(L& target, std::string_view text) {
    TRY_STATUS(set_list<Member>(target, text));
    if (is_one_of(text, "all")) (target.*Member).clear();
    return {};
}

constexpr Row yes(std::string_view key, Row::Setter set) {
    return {key, Effect::Honoured, {}, {}, {}, set, nullptr};
}
constexpr Row no(std::string_view key,
                 std::string_view why,
                 std::string_view fine = "",
                 Row::Setter set = nullptr) {
    return {key, Effect::NoEffect, why, fine, {}, set, nullptr};
}
constexpr Row refuse(std::string_view key,
                     std::string_view why,
                     std::string_view fine,
                     Row::Setter set = nullptr) {
    return {key, Effect::Refused, why, fine, {}, set, nullptr};
}

constexpr std::string_view kNoMemoryMax = "a request is held against the memory of nodes alone yet";
constexpr std::string_view kNotShared = "CPUs are never given to two jobs at once";

constexpr auto kTable = std::to_array<Row>({
    yes("PartitionName", set_text<&L::name>),
    no("AllocNodes", "jobs are taken from every node", "all", set_allowed<&L::alloc_nodes>),
    yes("AllowAccounts", set_allowed<&L::allow_accounts>),
    refuse("AllowGroups",
           "membership of groups is not checked yet: the partition would be open to all",
           "all",
           set_allowed<&L::allow_groups>),
    yes("AllowQos", set_allowed<&L::allow_qos>),
    no("Alternate", "a job stays in the partition that it asked for", "none"),
    no("CpuBind", "tasks are not bound to CPUs yet", "none"),
    yes("Default", set_yes_no<&L::is_default>),
    yes("DefaultTime", set_default_time),
    yes("DefCpuPerGPU", set_number<&L::cpus_per_gpu_default, 0, kFactorMax>),
    yes("DefMemPerCPU", set_memory<&L::memory_default, &MemoryRule::per_cpu>),
    yes("DefMemPerGPU", set_memory<&L::memory_default, &MemoryRule::per_gpu>),
    yes("DefMemPerNode", set_memory<&L::memory_default, &MemoryRule::per_node>),
    yes("DenyAccounts", set_list<&L::deny_accounts>),
    yes("DenyQos", set_list<&L::deny_qos>),
    refuse("DisableRootJobs", "root's jobs are not kept out yet", "no,0"),
    refuse(
        "Exclusive", "only NO and NODE are built: nodes would be shared", "no,node", set_exclusive),
    refuse("ExclusiveTopo", "not built: nodes would be shared", "no,0"),
    refuse("ExclusiveUser",
           "not built: nodes would be shared between users",
           "no,0",
           set_yes_no<&L::exclusive_user>),
    no("GraceTime", kNoPreemption, "0", set_seconds<&L::grace_time, 0, 0xffffffff>),
    yes("Hidden", set_yes_no<&L::hidden>),
    no("JobDefaults", "written as DefCpuPerGPU and DefMemPerGPU"),
    no("LLN", "nodes are packed: the fullest that fits goes first", "no,0"),
    yes("MaxCPUsPerNode", set_limit<&L::max_cpus_per_node, 0, 0x7fffffff>),
    no("MaxCPUsPerSocket", "CPUs are not counted by socket yet", "unlimited"),
    no("MaxMemPerCPU",
       kNoMemoryMax,
       "0,unlimited",
       set_memory<&L::memory_max, &MemoryRule::per_cpu>),
    no("MaxMemPerNode",
       kNoMemoryMax,
       "0,unlimited",
       set_memory<&L::memory_max, &MemoryRule::per_node>),
    yes("MaxNodes", set_limit<&L::max_nodes, 0, 0x7fffffff>),
    yes("MaxTime", set_time<&L::max_time>),
    yes("MinNodes", set_number<&L::min_nodes, 0, 0x7fffffff>),
    yes("Nodes", set_text<&L::nodes_text>),
    no("OverSubscribe", kNotShared, "no,exclusive,yes:1,force:1", set_over_subscribe),
    no("OverTimeLimit", "the cluster's OverTimeLimit is used", "", set_over_time),
    no("PowerDownOnIdle", kNoPower, "no,0"),
    no("PreemptMode", kNoPreemption, "off", set_text<&L::preempt_mode>),
    yes("Priority", set_priority),
    yes("PriorityJobFactor", set_number<&L::priority_job_factor, 0, kFactorMax>),
    yes("PriorityTier", set_number<&L::priority_tier, 0, kFactorMax>),
    yes("QOS", set_text<&L::qos>),
    refuse("ReqResv",
           "reservations are not built: the partition would be open to all",
           "no,0",
           set_yes_no<&L::req_resv>),
    no("ResumeTimeout", kNoPower),
    yes("RootOnly", set_yes_no<&L::root_only>),
    no("SelectTypeParameters", "the cluster's SelectTypeParameters are used", "none"),
    no("Shared", kNotShared, "no,exclusive,yes:1,force:1", set_over_subscribe),
    yes("State", set_state),
    no("SuspendTime", kNoPower),
    no("SuspendTimeout", kNoPower),
    no("Topology", "placement does not look at the network yet"),
    no("TRESBillingWeights",
       "billing arrives with fair share",
       "",
       set_text<&L::tres_billing_weights>),
});

}  // namespace

std::span<const Entry<PartitionLine>> partition_table() {
    return kTable;
}

}  // namespace twinyard::config
