// Words and rows: what listings are told about workloads and nodes.
#include "slurm/rows.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/duration_text.h"
#include "slurm/words.h"

namespace twinyard::slurm {
namespace {

using model::EndKind;
using model::Hold;
using model::Wait;
using model::WorkloadState;

// ---- words

struct StateRow {
    WorkloadState state;
    EndKind kind;
    const char* word;
    const char* base;
    const char* compact;
};

model::Workload in_state(WorkloadState state, model::Outcome outcome = {}) {
    model::Workload workload;
    workload.spec = std::make_shared<const model::WorkloadSpec>();
    workload.status.state = state;
    workload.status.outcome = std::move(outcome);
    return workload;
}

TEST(Words, States) {
    const std::vector<StateRow> rows = {
        {WorkloadState::Pending, EndKind::None, "PENDING", "PENDING", "PD"},
        {WorkloadState::Starting, EndKind::None, "CONFIGURING", "RUNNING", "CF"},
        {WorkloadState::Running, EndKind::None, "RUNNING", "RUNNING", "R"},
        {WorkloadState::Suspended, EndKind::None, "SUSPENDED", "SUSPENDED", "S"},
        {WorkloadState::Completing, EndKind::Cancelled, "COMPLETING", "CANCELLED", "CG"},
        {WorkloadState::Done, EndKind::Completed, "COMPLETED", "COMPLETED", "CD"},
        {WorkloadState::Done, EndKind::Failed, "FAILED", "FAILED", "F"},
        {WorkloadState::Done, EndKind::LaunchFailed, "FAILED", "FAILED", "F"},
        {WorkloadState::Done, EndKind::Cancelled, "CANCELLED", "CANCELLED", "CA"},
        {WorkloadState::Done, EndKind::TimeLimit, "TIMEOUT", "TIMEOUT", "TO"},
        {WorkloadState::Done, EndKind::NodeFailed, "NODE_FAIL", "NODE_FAIL", "NF"},
        {WorkloadState::Done, EndKind::Preempted, "PREEMPTED", "PREEMPTED", "PR"},
        {WorkloadState::Done, EndKind::OutOfMemory, "OUT_OF_MEMORY", "OUT_OF_MEMORY", "OOM"},
        {WorkloadState::Done, EndKind::Deadline, "DEADLINE", "DEADLINE", "DL"},
    };
    for (const StateRow& row : rows) {
        const model::Workload workload = in_state(row.state, {row.kind, 0, 0, 0, ""});
        EXPECT_EQ(job_state(workload), row.word);
        EXPECT_EQ(base_state(workload), row.base);
        EXPECT_EQ(compact_state(row.word), row.compact);
        EXPECT_EQ(parse_job_state(row.compact), row.word);
    }
    EXPECT_EQ(parse_job_state("running"), "RUNNING");
    EXPECT_EQ(parse_job_state("cd"), "COMPLETED");
    EXPECT_EQ(parse_job_state("nope"), std::nullopt);
    EXPECT_TRUE(is_finished_state("TIMEOUT"));
    EXPECT_FALSE(is_finished_state("COMPLETING"));
}

TEST(Words, ReasonsOfEnds) {
    const std::vector<std::pair<model::Outcome, const char*>> rows = {
        {{EndKind::Completed, 0, 0, 0, ""}, "None"},
        {{EndKind::Failed, 3, 0, 0, ""}, "NonZeroExitCode"},
        {{EndKind::Failed, 0, 9, 0, ""}, "RaisedSignal:9(Killed)"},
        {{EndKind::TimeLimit, 0, 15, 0, ""}, "TimeLimit"},
        {{EndKind::LaunchFailed, 0, 53, 0, ""}, "JobLaunchFailure"},
        {{EndKind::NodeFailed, 0, 0, 0, ""}, "NodeDown"},
        {{EndKind::Cancelled, 0, 15, 0, ""}, "None"},
    };
    for (const auto& [outcome, reason] : rows)
        EXPECT_EQ(reason_of(in_state(WorkloadState::Done, outcome), nullptr, nullptr), reason);
}

TEST(Words, ReasonsToWait) {
    model::Workload pending = in_state(WorkloadState::Pending);
    EXPECT_EQ(reason_of(pending, nullptr, nullptr), "None");
    const std::vector<std::pair<Wait, const char*>> rows = {
        {Wait::Resources, "Resources"},
        {Wait::Priority, "Priority"},
        {Wait::NeverFits, "PartitionConfig"},
        {Wait::PartitionNodes, "PartitionNodeLimit"},
        {Wait::PartitionTime, "PartitionTimeLimit"},
        {Wait::PartitionDown, "PartitionDown"},
        {Wait::BeginTime, "BeginTime"},
        {Wait::Dependency, "Dependency"},
    };
    for (const auto& [wait, reason] : rows) {
        model::Verdict verdict;
        verdict.wait = wait;
        EXPECT_EQ(reason_of(pending, &verdict, nullptr), reason);
    }
    model::Verdict down;
    down.wait = Wait::NodesUnavailable;
    down.nodes = {"n1", "n2"};
    EXPECT_EQ(reason_of(pending, &down, nullptr), "ReqNodeNotAvail, UnavailableNodes:n[1-2]");
    pending.status.hold = Hold::User;
    EXPECT_EQ(reason_of(pending, &down, nullptr), "JobHeldUser");
    pending.status.hold = Hold::Admin;
    EXPECT_EQ(reason_of(pending, &down, nullptr), "JobHeldAdmin");
}

struct NodeStateRow {
    const char* name;
    api::NodeRow node;
    const char* flags;
    const char* compact;
    const char* long_word;
};

api::NodeRow node_row(const char* base) {
    api::NodeRow row;
    row.base_state = base;
    return row;
}

TEST(Words, NodeStates) {
    api::NodeRow drained = node_row("IDLE");
    drained.drain = true;
    api::NodeRow draining = node_row("MIXED");
    draining.drain = true;
    api::NodeRow silent = node_row("ALLOCATED");
    silent.no_respond = true;
    api::NodeRow down = node_row("DOWN");
    down.down = down.no_respond = true;
    api::NodeRow completing = node_row("IDLE");
    completing.completing = true;
    api::NodeRow planned = node_row("IDLE");
    planned.planned = true;
    const std::vector<NodeStateRow> rows = {
        {"idle", node_row("IDLE"), "IDLE", "idle", "idle"},
        {"mixed", node_row("MIXED"), "MIXED", "mix", "mixed"},
        {"allocated", node_row("ALLOCATED"), "ALLOCATED", "alloc", "allocated"},
        {"drained", drained, "IDLE+DRAIN", "drain", "drained"},
        {"draining", draining, "MIXED+DRAIN", "drng", "draining"},
        {"silent", silent, "ALLOCATED+NOT_RESPONDING", "alloc*", "allocated*"},
        {"down", down, "DOWN+NOT_RESPONDING", "down*", "down*"},
        {"completing", completing, "IDLE+COMPLETING", "comp", "completing"},
        {"planned", planned, "IDLE+PLANNED", "plnd", "planned"},
    };
    for (const NodeStateRow& row : rows) {
        EXPECT_EQ(node_state_flags(row.node), row.flags) << row.name;
        EXPECT_EQ(node_state_compact(row.node), row.compact) << row.name;
        EXPECT_EQ(node_state_long(row.node), row.long_word) << row.name;
    }
    EXPECT_TRUE(node_has_state(draining, "DRAIN"));
    EXPECT_TRUE(node_has_state(draining, "drng"));
    EXPECT_FALSE(node_has_state(draining, "drained"));
    EXPECT_TRUE(node_has_state(down, "down"));
    EXPECT_TRUE(is_node_state("Idle"));
    EXPECT_FALSE(is_node_state("sleepy"));
}

// ---- rows

/// Two nodes of 4 cpus and 2 h100 in partition main; job 5 runs on both since 60 s.
struct Cluster {
    model::Snapshot snapshot;
    model::Workload job;

    Cluster() {
        auto config = std::make_shared<model::ClusterConfig>();
        model::Partition main;
        main.name = "main";
        main.nodes = {"n1", "n2"};
        main.is_default = true;
        main.time_max = Seconds{3600};
        config->partitions.push_back(main);
        snapshot.config = config;
        snapshot.time = ClusterTime{Millis{100'000}};
        snapshot.wall = WallTime{Millis{1'000'100'000}};
        for (std::uint32_t i = 1; i <= 2; ++i)
            put_node(i);
        put_job();
    }

    void put_node(std::uint32_t number) {
        auto node = std::make_shared<model::Node>();
        node->id = model::NodeId{number};
        node->name = "n" + std::to_string(number);
        node->link = model::NodeLink::Responding;
        node->capacity.cpus = 4;
        node->capacity.memory_bytes = 8 * kGiB;
        node->capacity.devices.resize(2);
        for (model::Device& device : node->capacity.devices)
            device.class_path = "gpu/h100";
        node->labels = {{"fast", ""}, {"zone", "a"}};
        snapshot.nodes.put(number, node);
        model::NodeUse use;
        use.cpu_milli = 2000;
        use.cpus = {0b11};
        use.memory_bytes = 2 * kGiB;
        use.grants = 1;
        use.devices = {0b10};
        snapshot.uses.put(number, use);
    }

    void put_job() {
        auto spec = std::make_shared<model::WorkloadSpec>();
        spec->name = "train";
        spec->uid = spec->gid = 1000;
        spec->queue = "physics";
        spec->qos = "normal";
        spec->partitions = {"main"};
        spec->launch.work_dir = "/home/alice";
        spec->launch.std_err = "%x.err";
        spec->launch.extra_environment = {{"SLURM_MEM_PER_NODE", "2048"}};
        model::TaskGroup group;
        group.members = {2, 2};
        group.nodes = {2, 2};
        group.members_per_node = {1, 1};
        group.per_member.cpu_milli = 1000;
        group.per_node.memory_bytes = 2 * kGiB;
        group.per_node.devices = {{"gpu/h100", 1, 0}};
        spec->groups = {group};
        auto placement = std::make_shared<model::Placement>();
        placement->partition = "main";
        for (std::uint32_t i = 1; i <= 2; ++i) {
            model::NodeGrant grant;
            grant.node = model::NodeId{i};
            grant.member_count = 1;
            grant.cpu_milli = 2000;
            grant.cpus = {0, 1};
            grant.memory_bytes = 2 * kGiB;
            grant.devices = {1};
            placement->grants.push_back(grant);
        }
        job.id = model::WorkloadId{77};
        job.job = model::JobId{5};
        job.spec = spec;
        job.placement = placement;
        job.status.state = WorkloadState::Running;
        job.status.started = ClusterTime{Millis{40'000}};
        job.status.started_wall = WallTime{Millis{1'000'040'000}};
    }
};

TEST(JobRow, OfARunningJob) {
    const Cluster cluster;
    JobFacts facts;
    facts.priority = 1000;
    facts.with_detail = true;
    const api::JobRow row = make_job_row(cluster.snapshot, cluster.job, facts);
    EXPECT_EQ(row.job, 5U);
    EXPECT_EQ(row.state, "RUNNING");
    EXPECT_EQ(row.reason, "None");
    EXPECT_EQ(row.node_list, "n[1-2]");
    EXPECT_EQ(row.batch_host, "n1");
    EXPECT_EQ(row.nodes, 2U);
    EXPECT_EQ(row.cpus, 4U);
    EXPECT_EQ(row.tasks, 2U);
    EXPECT_EQ(row.run_time_ms, 60'000);
    EXPECT_EQ(row.time_limit_s, 3600);
    EXPECT_EQ(row.end_ms, 1'000'040'000 + 3'600'000);
    EXPECT_EQ(row.mem_per_node_mb, 2048);
    EXPECT_EQ(row.req_tres, "cpu=2,mem=4G,node=2,billing=2,gres/gpu=2");
    EXPECT_EQ(row.alloc_tres, "cpu=4,mem=4G,node=2,billing=4,gres/gpu=2");
    EXPECT_EQ(row.tres_per_node, "gres/gpu:h100:1");
    EXPECT_EQ(row.std_out, "/home/alice/slurm-5.out");
    EXPECT_EQ(row.std_err, "/home/alice/train.err");
    EXPECT_EQ(row.std_in, "/dev/null");
    ASSERT_EQ(row.grants.size(), 2U);
    EXPECT_EQ(row.grants[0].gres, "gpu:h100:1(IDX:1)");
    // Time passes while nothing happens: the snapshot is old, the run time is not.
    facts.now = ClusterTime{Millis{130'000}};
    EXPECT_EQ(make_job_row(cluster.snapshot, cluster.job, facts).run_time_ms, 90'000);
}

TEST(JobRow, OfAPendingJobThatRanBefore) {
    Cluster cluster;
    cluster.job.status.state = WorkloadState::Pending;
    model::Verdict verdict;
    verdict.wait = Wait::Resources;
    verdict.text = "needs 2 nodes";
    JobFacts facts;
    facts.verdict = &verdict;
    facts.expected_start = ClusterTime{Millis{160'000}};
    facts.expected_nodes = {model::NodeId{2}, model::NodeId{1}};
    const api::JobRow row = make_job_row(cluster.snapshot, cluster.job, facts);
    EXPECT_EQ(row.state, "PENDING");
    EXPECT_EQ(row.reason, "Resources");
    EXPECT_EQ(row.explanation, "needs 2 nodes");
    EXPECT_EQ(row.node_list, "");
    EXPECT_EQ(row.start_ms, 0);
    EXPECT_EQ(row.expected_start_ms, 1'000'160'000);
    EXPECT_EQ(row.expected_nodes, "n[1-2]");
    EXPECT_EQ(row.cpus, 2U);
    EXPECT_EQ(row.alloc_tres, "");
}

TEST(JobRow, MoreNodesThanThereAreIsNotThePartitionsLimit) {
    Cluster cluster;
    cluster.job.status.state = WorkloadState::Pending;
    model::Verdict verdict;
    verdict.wait = Wait::PartitionNodes;
    JobFacts facts;
    facts.verdict = &verdict;
    EXPECT_EQ(make_job_row(cluster.snapshot, cluster.job, facts).reason, "PartitionConfig");
    auto config = std::make_shared<model::ClusterConfig>(*cluster.snapshot.config);
    config->partitions[0].nodes_max = 1;
    cluster.snapshot.config = config;
    EXPECT_EQ(make_job_row(cluster.snapshot, cluster.job, facts).reason, "PartitionNodeLimit");
}

TEST(NodeRow, InUse) {
    const Cluster cluster;
    const PartitionNames names = partition_names(cluster.snapshot);
    const model::Node& node = *find(cluster.snapshot, model::NodeId{1});
    const api::NodeRow row = make_node_row(cluster.snapshot, names, node, true);
    EXPECT_EQ(row.state, "MIXED");
    EXPECT_EQ(row.cpus_alloc, 2U);
    EXPECT_EQ(row.memory_alloc_mb, 2048);
    EXPECT_EQ(row.gres, "gpu:h100:2");
    EXPECT_EQ(row.gres_used, "gpu:h100:1(IDX:1)");
    EXPECT_EQ(row.features, "fast");
    EXPECT_EQ(row.partitions, "main");
    EXPECT_EQ(row.cfg_tres, "cpu=4,mem=8G,billing=4,gres/gpu=2");
    EXPECT_EQ(row.alloc_tres, "cpu=2,mem=2G,gres/gpu=1");
    EXPECT_FALSE(row.planned);
}

TEST(NodeRow, WithoutAgent) {
    const Cluster cluster;
    model::Node node;
    node.name = "n9";
    node.id = model::NodeId{9};
    const api::NodeRow row = make_node_row(cluster.snapshot, {}, node, false);
    EXPECT_EQ(row.state, "DOWN+NOT_RESPONDING");
    EXPECT_EQ(node_state_compact(row), "down*");
    EXPECT_EQ(row.reason, "no agent");
}

TEST(PartitionRow, Totals) {
    const Cluster cluster;
    const api::PartitionRow row =
        make_partition_row(cluster.snapshot, cluster.snapshot.config->partitions[0]);
    EXPECT_EQ(row.nodes, "n[1-2]");
    EXPECT_EQ(row.total_cpus, 8U);
    EXPECT_EQ(row.tres, "cpu=8,mem=16G,node=2,billing=8,gres/gpu=4");
    EXPECT_EQ(row.time_max_s, 3600);
    EXPECT_EQ(row.time_default_s, -2);
}

TEST(Matches, Queries) {
    Cluster cluster;
    const auto ask = [&](const std::function<void(api::JobQuery&)>& set) {
        api::JobQuery query;
        set(query);
        return matches(query, cluster.snapshot, cluster.job);
    };
    EXPECT_TRUE(ask([](api::JobQuery&) {}));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.jobs = {4, 5}; }));
    EXPECT_FALSE(ask([](api::JobQuery& q) { q.jobs = {4}; }));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.uids = {1000}; }));
    EXPECT_FALSE(ask([](api::JobQuery& q) { q.uids = {1}; }));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.nodes = {"n2"}; }));
    EXPECT_FALSE(ask([](api::JobQuery& q) { q.nodes = {"n3"}; }));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.states = {"RUNNING"}; }));
    EXPECT_FALSE(ask([](api::JobQuery& q) { q.states = {"PENDING"}; }));
    EXPECT_FALSE(ask([](api::JobQuery& q) { q.partitions = {"other"}; }));
    cluster.job.status.state = WorkloadState::Done;
    EXPECT_FALSE(ask([](api::JobQuery&) {}));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.all_states = true; }));
    EXPECT_TRUE(ask([](api::JobQuery& q) { q.states = {"COMPLETED"}; }));
}

TEST(Matches, Targets) {
    Cluster cluster;
    const auto hits = [&](const std::function<void(api::JobTargets&)>& set) {
        api::JobTargets targets;
        set(targets);
        return matches(targets, cluster.snapshot, cluster.job);
    };
    EXPECT_FALSE(hits([](api::JobTargets&) {}));
    EXPECT_TRUE(hits([](api::JobTargets& t) { t.uids = {1000}; }));
    EXPECT_TRUE(hits([](api::JobTargets& t) { t.names = {"train"}, t.uids = {1000}; }));
    EXPECT_FALSE(hits([](api::JobTargets& t) { t.names = {"train"}, t.uids = {7}; }));
    cluster.job.status.state = WorkloadState::Done;
    EXPECT_FALSE(hits([](api::JobTargets& t) { t.uids = {1000}; }));
    EXPECT_TRUE(hits([](api::JobTargets& t) { t.jobs = {5}; }));
}

}  // namespace
}  // namespace twinyard::slurm
