// The Slurm half of the table "request → TaskGroup" (the Kubernetes half is in
// src/model/examples_test.cpp), then what else translate() decides and refuses.
#include "slurm/translate.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/duration_text.h"
#include "model/notation.h"
#include "slurm/errors.h"

namespace twinyard::slurm {
namespace {

using api::JobRequest;
using model::ClusterConfig;
using model::Partition;

struct GroupRow {
    const char* options;  ///< As the user writes them.
    std::function<void(JobRequest&)> set;
    const char* group;
    std::function<void(ClusterConfig&)> site = [](ClusterConfig&) {};
};

const std::vector<GroupRow>& group_rows() {
    static const std::vector<GroupRow> kRows = {
        {"(nothing)",
         [](JobRequest&) {},
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory"},
        {"-n100 -c2 --mem=64G",
         [](JobRequest& r) { r.ntasks = 100, r.cpus_per_task = 2, r.mem_per_node_mb = 65536; },
         "members 100; member: cpu 2; node: mem 64G"},
        {"--nodes=16 --gres=gpu:h100:8",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 16, r.gres = "gpu:h100:8"; },
         "members 16 on 16 nodes, 1 a node; member: cpu 1; node: 8 gpu/h100; all memory"},
        {"--gpus=16",
         [](JobRequest& r) { r.gpus = "16"; },
         "members 1.., 1 a node; member: cpu 1; total: 16 gpu; all memory"},
        {"-N2-4",
         [](JobRequest& r) { r.nodes_min = 2, r.nodes_max = 4; },
         "members 2..4 on 2..4 nodes, 1 a node; member: cpu 1; all memory"},
        {"--exclusive",
         [](JobRequest& r) { r.exclusive = ""; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all cpus+memory+devices; whole nodes"},
        {"--exclusive --mem=1G",
         [](JobRequest& r) { r.exclusive = "", r.mem_per_node_mb = 1024; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; node: mem 1G; all cpus+devices; whole "
         "nodes"},
        {"--exclusive=user --mem=1G",
         [](JobRequest& r) { r.exclusive = "user", r.mem_per_node_mb = 1024; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; node: mem 1G; own nodes"},
        {"--constraint=[x|y]",
         [](JobRequest& r) { r.constraint = "[x|y]"; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory; one of x | y"},
        {"--constraint=a&b",
         [](JobRequest& r) { r.constraint = "a&b"; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory; where a&b"},
        {"--constraint=a|b",
         [](JobRequest& r) { r.constraint = "a|b"; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory; where a | b"},
        {"--constraint=[x|y]&z",
         [](JobRequest& r) { r.constraint = "[x|y]&z"; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory; one of x&z | y&z"},
        {"-N2 -n6",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 2, r.ntasks = 6; },
         "members 6 on 2 nodes; member: cpu 1; all memory"},
        {"-N2 -n6 --ntasks-per-node=3",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 2, r.ntasks = 6, r.ntasks_per_node = 3; },
         "members 6 on 2 nodes, 1..3 a node; member: cpu 1; all memory"},
        {"-N2 --ntasks-per-node=4",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 2, r.ntasks_per_node = 4; },
         "members 8 on 2 nodes, 4 a node; member: cpu 1; all memory"},
        {"--gpus=4 -N2",
         [](JobRequest& r) { r.gpus = "4", r.nodes_min = r.nodes_max = 2; },
         "members 2 on 2 nodes, 1 a node; member: cpu 1; total: 4 gpu; all memory"},
        {"-n4 --gpus-per-task=h100:2",
         [](JobRequest& r) { r.ntasks = 4, r.gpus_per_task = "h100:2"; },
         "members 4; member: cpu 1, 2 gpu/h100; all memory; devices bound"},
        {"--gpus=8 --gpus-per-task=2",
         [](JobRequest& r) { r.gpus = "8", r.gpus_per_task = "2"; },
         "members 4; member: cpu 1, 2 gpu; all memory; devices bound"},
        {"-N3 --gpus-per-node=4",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 3, r.gpus_per_node = "4"; },
         "members 3 on 3 nodes, 1 a node; member: cpu 1; node: 4 gpu; all memory"},
        {"-n3 -c2 --mem-per-cpu=500",
         [](JobRequest& r) { r.ntasks = 3, r.cpus_per_task = 2, r.mem_per_cpu_mb = 500; },
         "members 3; member: cpu 2, mem 1000M"},
        {"-N2 --gres=gpu:4 --mem-per-gpu=10G",
         [](JobRequest& r) {
             r.nodes_min = r.nodes_max = 2, r.gres = "gpu:4", r.mem_per_gpu_mb = 10240;
         },
         "members 2 on 2 nodes, 1 a node; member: cpu 1; node: mem 40G, 4 gpu"},
        {"--mem=0",
         [](JobRequest& r) { r.mem_per_node_mb = 0; },
         "members 1 on 1 nodes, 1 a node; member: cpu 1; all memory"},
        {"-n2, DefMemPerCPU=1G",
         [](JobRequest& r) { r.ntasks = 2; },
         "members 2; member: cpu 1, mem 1G",
         [](ClusterConfig& c) { c.limits.memory_default.per_cpu = kGiB; }},
        {"DefMemPerNode=2G of the partition before that of the cluster",
         [](JobRequest&) {},
         "members 1 on 1 nodes, 1 a node; member: cpu 1; node: mem 2G",
         [](ClusterConfig& c) {
             c.limits.memory_default.per_cpu = kGiB;
             c.partitions[0].memory_default.per_node = 2 * kGiB;
         }},
        {"SelectTypeParameters without memory",
         [](JobRequest&) {},
         "members 1 on 1 nodes, 1 a node; member: cpu 1",
         [](ClusterConfig& c) { c.limits.memory_is_consumable = false; }},
        {"-w n2,n1 -x n3",
         [](JobRequest& r) { r.nodelist = "n[2,1]", r.exclude = "n3"; },
         "members 2 on 2 nodes, 1 a node; member: cpu 1; all memory; with n1,n2; without n3"},
        {"-n8 -w n1",
         [](JobRequest& r) { r.ntasks = 8, r.nodelist = "n1"; },
         "members 8; member: cpu 1; all memory; with n1"},
        {"-N4 --switches=1@10:00",
         [](JobRequest& r) {
             r.nodes_min = r.nodes_max = 4, r.switches = 1, r.switches_wait_s = 600;
         },
         "members 4 on 4 nodes, 1 a node; member: cpu 1; all memory; switches 1 for 600s"},
        {"-c4 --gpus=2",
         [](JobRequest& r) { r.cpus_per_task = 4, r.gpus = "2"; },
         "members 1.., 1 a node; member: cpu 4; total: 2 gpu; all memory"},
        {"--gres=gpu:2 --cpus-per-gpu=6",
         [](JobRequest& r) { r.gres = "gpu:2", r.cpus_per_gpu = 6; },
         "members 1 on 1 nodes, 1 a node; node: cpu 12, 2 gpu; all memory"},
        {"-N4 -n2: no more nodes than tasks",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 4, r.ntasks = 2; },
         "members 2 on 2..4 nodes; member: cpu 1; all memory"},
    };
    return kRows;
}

ClusterConfig one_partition() {
    ClusterConfig config;
    Partition partition;
    partition.name = "main";
    partition.is_default = true;
    partition.all_nodes = true;
    config.partitions.push_back(partition);
    return config;
}

TEST(TaskGroups, TableOfRequests) {
    EXPECT_GE(group_rows().size(), 25U);
    for (const GroupRow& row : group_rows()) {
        ClusterConfig config = one_partition();
        row.site(config);
        JobRequest request;
        row.set(request);
        const Result<model::TaskGroup> group =
            task_group_of(request, config, &config.partitions.front());
        ASSERT_TRUE(group.has_value()) << row.options << ": " << group.error().message();
        EXPECT_EQ(model::to_text(*group), row.group) << row.options;
    }
}

struct RefusalRow {
    const char* options;
    std::function<void(JobRequest&)> set;
    const char* error;
};

/// Four nodes of 16 cpus, 64 GiB and eight h100; n1 has feature fast. Partitions: main (default,
/// all), debug (n1, one hour), closed.
struct Cluster {
    ClusterConfig config = one_partition();
    model::Snapshot snapshot;

    Cluster() {
        config.partitions[0].qos = "gold";
        config.partitions[0].time_default = Seconds{7200};
        Partition debug;
        debug.name = "debug";
        debug.nodes = {"n1"};
        debug.time_max = Seconds{3600};
        config.partitions.push_back(debug);
        Partition closed;
        closed.name = "closed";
        closed.all_nodes = true;
        closed.state = model::PartitionState::Drain;
        config.partitions.push_back(closed);
        for (std::uint32_t i = 1; i <= 4; ++i)
            add_node(i);
        snapshot.config = std::make_shared<const ClusterConfig>(config);
    }

    void add_node(std::uint32_t number) {
        auto node = std::make_shared<model::Node>();
        node->id = model::NodeId{number};
        node->name = "n" + std::to_string(number);
        node->link = model::NodeLink::Responding;
        node->capacity.cpus = 16;
        node->capacity.memory_bytes = 64 * kGiB;
        for (int i = 0; i < 8; ++i) {
            model::Device device;
            device.class_path = "gpu/h100";
            node->capacity.devices.push_back(device);
        }
        if (number == 1) node->labels = {{"fast", ""}};
        snapshot.nodes.put(number, node);
    }

    [[nodiscard]] Result<Translated> ask(JobRequest request, bool admin = false) const {
        request.uid = request.gid = 1000;
        return translate(request, config, snapshot, {1000, 1000, admin});
    }
    [[nodiscard]] std::string refusal(const std::function<void(JobRequest&)>& set) const {
        JobRequest request;
        request.script = "#!/bin/sh\ntrue\n";
        set(request);
        const Result<Translated> answer = ask(request);
        return answer ? "(accepted)" : answer.error().message();
    }
};

TEST(Translate, RefusesInSlurmsWords) {
    const std::vector<RefusalRow> rows = {
        {"-p nope",
         [](JobRequest& r) { r.partition = "nope"; },
         "Invalid partition name specified"},
        {"-p main,nope",
         [](JobRequest& r) { r.partition = "main,nope"; },
         "Invalid partition name specified"},
        {"-p closed",
         [](JobRequest& r) { r.partition = "closed"; },
         "Required partition not available (inactive or drain)"},
        {"-q nope", [](JobRequest& r) { r.qos = "nope"; }, "Invalid qos specification"},
        {"-w nope", [](JobRequest& r) { r.nodelist = "nope"; }, "Invalid node name specified"},
        {"-x n[", [](JobRequest& r) { r.exclude = "n["; }, "Invalid node name specified"},
        {"-w n[1-1000000000]",
         [](JobRequest& r) { r.nodelist = "n[1-1000000000]"; },
         "Invalid node name specified"},
        {"-x of nearly everything",
         [](JobRequest& r) { r.exclude = "n[1-4],n[1-9999]"; },
         "Invalid node name specified"},
        {"-x all nodes",
         [](JobRequest& r) { r.exclude = "n[1-4]"; },
         "Requested node configuration is not available"},
        {"-p debug -w n2",
         [](JobRequest& r) { r.partition = "debug", r.nodelist = "n2"; },
         "Requested node configuration is not available"},
        {"-N1 -w n1,n2",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 1, r.nodelist = "n1,n2"; },
         "Node count specification invalid"},
        {"-c17",
         [](JobRequest& r) { r.cpus_per_task = 17; },
         "CPU count per node can not be satisfied\nRequested node configuration is not available"},
        {"-N1 -n17",
         [](JobRequest& r) { r.nodes_min = r.nodes_max = 1, r.ntasks = 17; },
         "CPU count per node can not be satisfied\nRequested node configuration is not available"},
        {"--mem=65G",
         [](JobRequest& r) { r.mem_per_node_mb = 66560; },
         "Memory specification can not be satisfied\nRequested node configuration is not "
         "available"},
        {"--gres=gpu:9",
         [](JobRequest& r) { r.gres = "gpu:9"; },
         "Requested node configuration is not available"},
        {"--gres=gpu:a100:1",
         [](JobRequest& r) { r.gres = "gpu:a100:1"; },
         "Requested node configuration is not available"},
        {"--gres=:::",
         [](JobRequest& r) { r.gres = ":::"; },
         "Invalid generic resource (gres) specification"},
        {"--gpus=h100",
         [](JobRequest& r) { r.gpus = "h100"; },
         "Invalid generic resource (gres) specification"},
        {"-C nope", [](JobRequest& r) { r.constraint = "nope"; }, "Invalid feature specification"},
        {"-C a&", [](JobRequest& r) { r.constraint = "a&"; }, "Invalid feature specification"},
        {"-t1 --time-min=2",
         [](JobRequest& r) { r.time_limit_s = 60, r.time_min_s = 120; },
         "Invalid time-min specification (exceeds job's time or other limits)"},
        {"-n0", [](JobRequest& r) { r.ntasks = 0; }, "Task count specification invalid"},
        {"--mem-per-gpu without GPUs",
         [](JobRequest& r) { r.mem_per_gpu_mb = 5; },
         "Invalid Trackable RESource (TRES) specification"},
        {"-c1 --cpus-per-gpu=1",
         [](JobRequest& r) { r.gpus = "1", r.cpus_per_task = 1, r.cpus_per_gpu = 1; },
         "Invalid Trackable RESource (TRES) specification"},
        {"--contiguous",
         [](JobRequest& r) { r.contiguous = true; },
         "--contiguous is not built yet\nRequested operation not supported on this system"},
        {"--exclusive=topo",
         [](JobRequest& r) { r.exclusive = "topo"; },
         "--exclusive=topo is not built yet\nRequested operation not supported on this system"},
        {"--priority=5", [](JobRequest& r) { r.priority = 5; }, "Access/permission denied"},
        {"a name of 1 MB",
         [](JobRequest& r) { r.name = std::string(1 << 20, 'x'); },
         "Pathname of a file, directory or other parameter too long"},
        {"a script of 5 MB",
         [](JobRequest& r) { r.script = "#!" + std::string(5 << 20, 'x'); },
         "Pathname of a file, directory or other parameter too long"},
        {"a control character in the name",
         [](JobRequest& r) { r.name = "a\x1b[2J"; },
         "Control characters are not allowed in a job name"},
    };
    const Cluster cluster;
    for (const RefusalRow& row : rows)
        EXPECT_EQ(cluster.refusal(row.set), row.error) << row.options;
}

TEST(Translate, AcceptsWhatOnlyHasToWait) {
    const Cluster cluster;
    // More nodes than there are, more GPUs than there are, longer than the partition allows.
    EXPECT_EQ(cluster.refusal([](JobRequest& r) { r.nodes_min = r.nodes_max = 8; }), "(accepted)");
    EXPECT_EQ(cluster.refusal([](JobRequest& r) { r.gpus = "64"; }), "(accepted)");
    EXPECT_EQ(cluster.refusal([](JobRequest& r) { r.partition = "debug", r.time_limit_s = 9999; }),
              "(accepted)");
    EXPECT_EQ(cluster.refusal([](JobRequest& r) { r.constraint = "fast"; }), "(accepted)");
    EXPECT_EQ(cluster.refusal([](JobRequest& r) { r.qos = "normal"; }), "(accepted)");
}

TEST(Translate, AnotherUsersJobNeedsAnAdministrator) {
    const Cluster cluster;
    JobRequest request;
    request.uid = 7;
    EXPECT_EQ(
        translate(request, cluster.config, cluster.snapshot, {1000, 1000, false}).error().message(),
        "Invalid user id");
    EXPECT_TRUE(translate(request, cluster.config, cluster.snapshot, {0, 0, true}).has_value());
}

TEST(Translate, NobodyTakesAnotherGroup) {
    const Cluster cluster;
    JobRequest request;
    request.uid = 1000;
    request.gid = 0;
    EXPECT_EQ(
        translate(request, cluster.config, cluster.snapshot, {1000, 1000, false}).error().message(),
        "Invalid group id");
    EXPECT_TRUE(translate(request, cluster.config, cluster.snapshot, {0, 0, true}).has_value());
}

TEST(Translate, NumbersAndWordsWithoutEndAreRefused) {
    const Cluster cluster;
    JobRequest request;
    request.begin_unix_s = INT64_MAX;
    EXPECT_FALSE(cluster.ask(request).has_value());
    std::string words = "a";
    for (int i = 0; i < 1'000; ++i)
        words += "&a";
    EXPECT_FALSE(parse_constraint(words).has_value());
}

TEST(Translate, FillsInDefaults) {
    const Cluster cluster;
    JobRequest request;
    request.script = "#!/bin/sh\n";
    request.command = "/home/alice/train.sh";
    request.environment = {"A=b", "TWINYARD_EMULATED_RUNTIME=90", "TWINYARD_EMULATED_EXIT=3"};
    const Result<Translated> answer = cluster.ask(request);
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    const model::WorkloadSpec& spec = answer->spec;
    EXPECT_EQ(spec.name, "train.sh");
    EXPECT_EQ(spec.partitions, std::vector<std::string>{"main"});
    EXPECT_EQ(spec.qos, "gold");
    EXPECT_EQ(spec.queue, "default");
    EXPECT_FALSE(spec.time_limit.has_value());
    EXPECT_TRUE(spec.requeue_allowed);
    EXPECT_EQ(spec.emulated_runtime, Millis{90'000});
    EXPECT_EQ(spec.emulated_exit, 3);
    EXPECT_TRUE(spec.launch.extra_environment.empty());
    ASSERT_EQ(answer->blobs.size(), 2U);
    EXPECT_EQ(answer->blobs[0].hash, spec.launch.script);
    EXPECT_EQ(content_hash(answer->blobs[1].bytes), spec.launch.environment);
    EXPECT_EQ(answer->hold, model::Hold::None);
}

TEST(Translate, PartitionsAreAlternativesInOrder) {
    const Cluster cluster;
    JobRequest request;
    request.partition = "debug,main";
    const Result<Translated> answer = cluster.ask(request);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->spec.partitions, (std::vector<std::string>{"debug", "main"}));
    // What one of them cannot give is no error if another can.
    request.nodelist = "n2";
    EXPECT_TRUE(cluster.ask(request).has_value());
}

TEST(Translate, LimitsAreWholeMinutesRoundedUp) {
    const Cluster cluster;
    JobRequest request;
    request.time_limit_s = 61;
    EXPECT_EQ(cluster.ask(request)->spec.time_limit, Millis{120'000});
    request.time_limit_s = -1;
    EXPECT_EQ(cluster.ask(request)->spec.time_limit, kNoTimeLimit);
}

TEST(Translate, OnlyWhatWasAskedIsInTheEnvironment) {
    const Cluster cluster;
    JobRequest request;
    request.ntasks = 4;
    request.cpus_per_task = 2;
    request.gpus = "h100:2";
    request.mem_per_cpu_mb = 100;
    request.export_env = "NONE";
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(cluster.ask(request)->spec.launch.extra_environment,
              (Pairs{{"SLURM_NTASKS", "4"},
                     {"SLURM_NPROCS", "4"},
                     {"SLURM_CPUS_PER_TASK", "2"},
                     {"SLURM_GPUS", "h100:2"},
                     {"SLURM_MEM_PER_CPU", "100"},
                     {"SLURM_EXPORT_ENV", "NONE"}}));
}

TEST(Translate, HoldAndNice) {
    const Cluster cluster;
    JobRequest request;
    request.hold = true;
    request.nice = -10;
    const Result<Translated> mine = cluster.ask(request);
    EXPECT_EQ(mine->hold, model::Hold::User);
    EXPECT_EQ(mine->spec.nice, 0);
    EXPECT_EQ(mine->warnings.size(), 1U);
    EXPECT_EQ(cluster.ask(request, true)->spec.nice, -10);
}

TEST(CheckPossible, NodesThatNeverRegisteredMayBeLikeTheOthers) {
    Cluster cluster;
    auto node = std::make_shared<model::Node>();
    node->id = model::NodeId{9};
    node->name = "n9";  // Declared without cpus, and no agent yet.
    cluster.snapshot.nodes.put(9, node);
    JobRequest request;
    request.cpus_per_task = 17;
    EXPECT_FALSE(cluster.ask(request).has_value());
    cluster.snapshot.nodes = {};
    cluster.snapshot.nodes.put(9, node);
    EXPECT_TRUE(cluster.ask(request).has_value());
}

struct GresRow {
    const char* text;
    bool bare;
    const char* expected;
};

TEST(ParseGres, Forms) {
    const std::vector<GresRow> rows = {
        {"gpu", false, "gpu=1"},
        {"gpu:8", false, "gpu=8"},
        {"gpu:H100:8", false, "gpu/h100=8"},
        {"gpu:h100", false, "gpu/h100=1"},
        {"gpu:a100:1,gpu:h100:2", false, "gpu/a100=1 gpu/h100=2"},
        {"gpu:1,gpu:2", false, "gpu=3"},
        {"gres:gpu:2", false, "gpu=2"},
        {"gres/gpu:2", false, "gpu=2"},
        {"gpu:2K", false, "gpu=2048"},
        {"none", false, ""},
        {"gpu:0", false, ""},
        {"4", true, "gpu=4"},
        {"h100:4", true, "gpu/h100=4"},
        {"h100:1,a100:2", true, "gpu/a100=2 gpu/h100=1"},
        {"", false, "!"},
        {"gpu:x:y:z", false, "!"},
        {"gpu::1", false, "!"},
        {"gpu:-1", false, "!"},
        {"h100", true, "!"},
        {"gpu:99999999999999999999", false, "!"},
    };
    for (const GresRow& row : rows) {
        const auto devices = parse_gres(row.text, row.bare);
        std::string text = devices ? "" : "!";
        for (std::size_t i = 0; devices && i < devices->size(); ++i) {
            if (i > 0) text += ' ';
            text += (*devices)[i].class_path + "=" + std::to_string((*devices)[i].count);
        }
        EXPECT_EQ(text, row.expected) << row.text;
    }
}

}  // namespace
}  // namespace twinyard::slurm
