#include "slurm/environment.h"

#include <gtest/gtest.h>

#include <map>

namespace twinyard::slurm {
namespace {

using api::LaunchOrder;

LaunchOrder two_nodes() {
    LaunchOrder order;
    order.job = model::JobId{17};
    order.name = "train";
    order.queue = "physics";
    order.qos = "normal";
    order.partition = "main";
    order.cluster = "yard";
    order.uid = order.gid = 1000;
    order.grant.cpus = {0, 1};
    order.gang.nodes = {"n1", "n2"};
    order.gang.members = {1, 1};
    order.gang.cpus = {2, 2};
    order.launch.work_dir = "/home/alice";
    order.launch.submit_host = "login";
    order.started_wall = WallTime{Seconds{1000}};
    order.time_limit = Seconds{60};
    return order;
}

HostFacts host() {
    HostFacts facts;
    facts.node_name = "n1";
    facts.user_name = "ada";
    facts.group_name = "staff";
    facts.home = "/home/alice";
    facts.shell = "/bin/bash";
    facts.slurm_conf = "/etc/yard/slurm.conf";
    facts.command_folder = "/opt/yard/bin";
    return facts;
}

std::map<std::string, std::string> as_map(const Environment& environment) {
    std::map<std::string, std::string> map;
    for (const std::string& variable : environment) {
        const std::size_t equals = variable.find('=');
        EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second)
            << variable << " twice";
    }
    return map;
}

using Pairs = std::vector<std::pair<const char*, const char*>>;

void expect_all(const std::map<std::string, std::string>& env, const Pairs& expected) {
    for (const auto& [name, value] : expected) {
        const auto found = env.find(name);
        EXPECT_EQ(found == env.end() ? "(unset)" : found->second, value) << name;
    }
}

TEST(BatchEnvironment, PlainJobOfTwoNodes) {
    const std::vector<std::string> submitted = {
        "PATH=/usr/bin", "HOME=/home/alice", "FOO=bar=baz", "EMPTY=", "not a variable"};
    expect_all(as_map(batch_environment(two_nodes(), host(), submitted)),
               {{"FOO", "bar=baz"},
                {"EMPTY", ""},
                {"PATH", "/opt/yard/bin:/usr/bin"},
                {"SLURM_CONF", "/etc/yard/slurm.conf"},
                {"ENVIRONMENT", "BATCH"},
                {"SLURM_JOB_ID", "17"},
                {"SLURM_JOBID", "17"},
                {"SLURM_JOB_NAME", "train"},
                {"SLURM_JOB_USER", "ada"},
                {"SLURM_JOB_UID", "1000"},
                {"SLURM_JOB_ACCOUNT", "physics"},
                {"SLURM_JOB_PARTITION", "main"},
                {"SLURM_JOB_QOS", "normal"},
                {"SLURM_CLUSTER_NAME", "yard"},
                {"SLURM_JOB_NODELIST", "n[1-2]"},
                {"SLURM_NODELIST", "n[1-2]"},
                {"SLURM_NNODES", "2"},
                {"SLURM_JOB_NUM_NODES", "2"},
                {"SLURM_JOB_CPUS_PER_NODE", "2(x2)"},
                {"SLURM_TASKS_PER_NODE", "2(x2)"},
                {"SLURM_CPUS_ON_NODE", "2"},
                {"SLURM_SUBMIT_DIR", "/home/alice"},
                {"SLURM_SUBMIT_HOST", "login"},
                {"SLURMD_NODENAME", "n1"},
                {"HOSTNAME", "n1"},
                {"TMPDIR", "/tmp"},
                {"SLURM_NODEID", "0"},
                {"SLURM_PROCID", "0"},
                {"SLURM_LOCALID", "0"},
                {"SLURM_GTIDS", "0"},
                {"SLURM_RESTART_COUNT", "0"},
                {"SLURM_OOM_KILL_STEP", "0"},
                {"SLURM_JOB_START_TIME", "1000"},
                {"SLURM_JOB_END_TIME", "1060"},
                // What was not asked is not there.
                {"SLURM_NTASKS", "(unset)"},
                {"SLURM_NPROCS", "(unset)"},
                {"SLURM_CPUS_PER_TASK", "(unset)"},
                {"SLURM_NTASKS_PER_NODE", "(unset)"},
                {"SLURM_GPUS", "(unset)"},
                {"SLURM_GPUS_ON_NODE", "(unset)"},
                {"SLURM_JOB_GPUS", "(unset)"},
                {"SLURM_MEM_PER_NODE", "(unset)"},
                {"CUDA_VISIBLE_DEVICES", "(unset)"},
                {"SLURM_STEP_ID", "(unset)"}});
}

TEST(BatchEnvironment, AJobsOwnVariablesDoNotLeakIntoTheJobsItSubmits) {
    const std::vector<std::string> submitted = {"SLURM_NTASKS=9",
                                                "SLURM_STEP_ID=4",
                                                "SLURM_CPUS_PER_TASK=3",
                                                "SLURM_GPUS_ON_NODE=8",
                                                "CUDA_VISIBLE_DEVICES=7",
                                                "SLURM_EXPORT_ENV=NONE",
                                                "SLURM_TIME_FORMAT=relative",
                                                "SLURM_SUBMIT_DIR=/scratch"};
    expect_all(as_map(batch_environment(two_nodes(), host(), submitted)),
               {{"SLURM_NTASKS", "(unset)"},
                {"SLURM_STEP_ID", "(unset)"},
                {"SLURM_CPUS_PER_TASK", "(unset)"},
                {"SLURM_GPUS_ON_NODE", "(unset)"},
                {"CUDA_VISIBLE_DEVICES", "(unset)"},
                {"SLURM_EXPORT_ENV", "(unset)"},
                {"SLURM_TIME_FORMAT", "relative"},
                {"SLURM_SUBMIT_DIR", "/scratch"}});
}

TEST(BatchEnvironment, WhatTheRequestSaidAndGpus) {
    LaunchOrder order = two_nodes();
    order.launch.extra_environment = {{"SLURM_NTASKS", "6"}, {"SLURM_CPUS_PER_TASK", "1"}};
    order.gang.members = {4, 2};
    order.grant.devices = {3, 2};
    order.device_class_paths = {"gpu/h100", "gpu/h100"};
    expect_all(as_map(batch_environment(order, host(), {})),
               {{"SLURM_NTASKS", "6"},
                {"SLURM_TASKS_PER_NODE", "4,2"},
                {"SLURM_JOB_GPUS", "2,3"},
                {"SLURM_GPUS_ON_NODE", "2"},
                {"CUDA_VISIBLE_DEVICES", "2,3"},
                {"SLURM_GPUS_PER_NODE", "(unset)"},
                {"HOME", "/home/alice"},
                {"USER", "ada"},
                {"SHELL", "/bin/bash"}});
}

TEST(BatchEnvironment, EndlessJobsHaveAnEndFarAway) {
    LaunchOrder order = two_nodes();
    order.time_limit.reset();
    EXPECT_EQ(as_map(batch_environment(order, host(), {})).at("SLURM_JOB_END_TIME"), "3153601000");
}

TEST(TaskEnvironment, PlacesAndStep) {
    LaunchOrder order = two_nodes();
    order.grant.devices = {0, 1, 2, 3};
    order.device_class_paths = {"gpu/h100", "gpu/h100", "gpu/h100", "gpu/h100"};
    api::StepLaunch step;
    step.step = 2;
    step.node_index = 1;
    step.first_task = 2;
    step.tasks = 2;
    step.total_tasks = 4;
    step.nodes = {"n1", "n2"};
    step.tasks_per_node = {2, 2};
    step.devices = {0, 1};
    step.request.environment = {"FOO=1", "CUDA_VISIBLE_DEVICES=5", "ENVIRONMENT=BATCH"};
    const Pairs expected = {{"FOO", "1"},
                            {"SLURM_NTASKS", "4"},
                            {"SLURM_NPROCS", "4"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_GTIDS", "2,3"},
                            {"SLURM_TASK_PID", "99"},
                            {"SLURM_STEP_ID", "2"},
                            {"SLURM_STEPID", "2"},
                            {"SLURM_STEP_NODELIST", "n[1-2]"},
                            {"SLURM_STEP_NUM_NODES", "2"},
                            {"SLURM_STEP_NUM_TASKS", "4"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                            {"SLURM_TASKS_PER_NODE", "2(x2)"},
                            {"SLURM_STEP_GPUS", "0,1"},
                            {"SLURM_JOB_GPUS", "0,1,2,3"},
                            {"SLURM_GPUS_ON_NODE", "2"},
                            {"CUDA_VISIBLE_DEVICES", "0,1"},
                            {"ENVIRONMENT", "(unset)"}};
    expect_all(as_map(task_environment(order, step, {3, 1, 99}, host())), expected);
    // Only binding splits the GPUs among the tasks.
    step.request.gpus_per_task = "1";
    EXPECT_EQ(as_map(task_environment(order, step, {3, 1, 99}, host())).at("CUDA_VISIBLE_DEVICES"),
              "1");
    // A step without GPUs sees none.
    step.devices.clear();
    expect_all(as_map(task_environment(order, step, {3, 1, 99}, host())),
               {{"CUDA_VISIBLE_DEVICES", "(unset)"}, {"SLURM_STEP_GPUS", "(unset)"}});
}

TEST(Counts, CompressedAndBack) {
    const std::vector<std::pair<std::vector<std::uint32_t>, std::string>> rows = {
        {{2, 2, 2, 1}, "2(x3),1"},
        {{72, 72, 36}, "72(x2),36"},
        {{1}, "1"},
        {{}, ""},
        {{1, 2, 1}, "1,2,1"}};
    for (const auto& [counts, text] : rows) {
        EXPECT_EQ(compress_counts(counts), text);
        EXPECT_EQ(expand_counts(text), counts) << text;
    }
    for (const char* bad : {"x", "2(x", "2(x0)", "2(x99999999)", "-1", "2(y3)"})
        EXPECT_TRUE(expand_counts(bad).empty()) << bad;
}

TEST(Indexes, ListAndRanges) {
    const std::vector<std::uint16_t> indexes = {0, 1, 2, 5, 7, 8};
    EXPECT_EQ(index_list(indexes), "0,1,2,5,7,8");
    EXPECT_EQ(index_ranges(indexes), "0-2,5,7-8");
    EXPECT_EQ(index_ranges({}), "");
}

TEST(Export, LetsThrough) {
    const std::vector<std::string> env = {"A=1", "B=2", "SLURM_X=3", "PATH=/bin"};
    using E = Environment;
    EXPECT_EQ(apply_export("", env), env);
    EXPECT_EQ(apply_export("ALL", env), env);
    EXPECT_EQ(apply_export("NONE", env), (E{"SLURM_X=3"}));
    EXPECT_EQ(apply_export("A,C=5=6", env), (E{"A=1", "SLURM_X=3", "C=5=6"}));
    EXPECT_EQ(apply_export("ALL,B=9", env), (E{"A=1", "B=9", "SLURM_X=3", "PATH=/bin"}));
}

TEST(EnvironmentBlob, RoundTrip) {
    const Environment env = {"A=1", "B=x\ny", "C="};
    EXPECT_EQ(split_environment(join_environment(env)), env);
    EXPECT_TRUE(split_environment("").empty());
}

}  // namespace
}  // namespace twinyard::slurm
