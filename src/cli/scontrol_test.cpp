#include <gtest/gtest.h>

#include <ostream>

#include "cli/fake_listings.h"

namespace twinyard::cli {
namespace {

using testing::FakeListings;
using testing::Ran;
using testing::run_line;
using testing::test_environment;

void add_yard(FakeListings& cluster) {
    cluster.jobs = {{.job = 5,
                     .name = "train",
                     .uid = 1000,
                     .gid = 1000,
                     .state = "RUNNING",
                     .base_state = "RUNNING",
                     .reason = "None",
                     .grants = {{.node = "n1", .cpus = {0, 1}, .devices = {}, .memory_mb = 100}}},
                    {.job = 6, .name = "done", .uid = 1000, .state = "COMPLETED"}};
    cluster.nodes = {{.name = "n1"}, {.name = "n2"}};
    cluster.partitions = {{.name = "gpu"}, {.name = "secret", .hidden = true}};
    cluster.controller.config = {{"MinJobAge", "300 sec"}};
}

Ran run(FakeListings& cluster,
        std::string_view line,
        const Environment& environment = test_environment()) {
    return run_line(run_scontrol, "scontrol", line, cluster, environment);
}
Ran scontrol(std::string_view line, const Environment& environment = test_environment()) {
    FakeListings cluster;
    add_yard(cluster);
    return run(cluster, line, environment);
}

TEST(Scontrol, Jobs) {
    for (const char* line :
         {"show job 5", "show job=5", "show jobid 5", "show jobs 5", "SHOW JobId=5", "sho j 5"}) {
        const Ran ran = scontrol(line);
        EXPECT_TRUE(ran.out.starts_with("JobId=5 JobName=train\n   UserId=ada(1000) ")) << line;
        EXPECT_TRUE(ran.out.ends_with("\n\n")) << line;
        EXPECT_EQ(ran.exit, kOk) << line;
    }
    const std::string all = scontrol("show job").out;
    EXPECT_NE(all.find("JobId=5 "), all.npos);
    EXPECT_NE(all.find("JobId=6 "), all.npos);
    EXPECT_NE(scontrol("show jobid -dd 5").out.find("Nodes=n1 CPU_IDs=0-1 "), all.npos);
    EXPECT_EQ(scontrol("show jobid 5").out.find("Nodes=n1 CPU_IDs"), all.npos);
    const std::string line = scontrol("-o show job=5").out;
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    const Ran unknown{"", "slurm_load_jobs error: Invalid job id specified\n", kFailed};
    EXPECT_EQ(scontrol("show job 99"), unknown);
    EXPECT_EQ(scontrol("show job abc"), unknown);
    EXPECT_EQ(scontrol("-Q show job 99"), (Ran{"", "", kFailed}));
    FakeListings empty;
    EXPECT_EQ(run(empty, "show job"), (Ran{"No jobs in the system\n", "", 0}));
}

TEST(Scontrol, Nodes) {
    EXPECT_TRUE(scontrol("show node n2").out.starts_with("NodeName=n2 "));
    EXPECT_EQ(std::ranges::count(scontrol("show nodes -o").out, '\n'), 2);
    EXPECT_EQ(std::ranges::count(scontrol("-o show node n[1-2]").out, '\n'), 2);
    EXPECT_EQ(scontrol("show node nosuch"), (Ran{"Node nosuch not found\n", "", kFailed}));
    EXPECT_EQ(scontrol("show node n[1-").exit, kFailed);
}

TEST(Scontrol, Partitions) {
    const std::string shown = scontrol("show part -o").out;
    EXPECT_TRUE(shown.starts_with("PartitionName=gpu "));
    EXPECT_EQ(std::ranges::count(shown, '\n'), 1);
    EXPECT_EQ(std::ranges::count(scontrol("-a show partition -o").out, '\n'), 2);
    EXPECT_EQ(std::ranges::count(scontrol("-a --hide show partition -o").out, '\n'), 1);
    EXPECT_EQ(std::ranges::count(scontrol("show partition secret -o").out, '\n'), 1);
    EXPECT_EQ(scontrol("show partition nosuch"),
              (Ran{"Partition nosuch not found\n", "", kFailed}));
}

TEST(Scontrol, HostLists) {
    const struct {
        const char* line;
        Ran ran;
    } cases[] = {
        {"show hostnames n[1-3]", {"n1\nn2\nn3\n", "", 0}},
        {"show hostname=a,b", {"a\nb\n", "", 0}},
        {"show hostnames", {"x1\nx2\n", "", 0}},
        {"show hostlist a1,a2,b", {"a[1-2],b\n", "", 0}},
        {"show hostlist n3,n1,n2,n1", {"n[3,1-2,1]\n", "", 0}},
        {"show hostlistsorted a3,a1,a2,a1", {"a[1,1-3]\n", "", 0}},
        {"show hostlist -", {"n[3,1-2]\n", "", 0}},
        {"show hostlist", {"", "invalid encode argument\n", kFailed}},
        {"show hostnames a b", {"", "too many arguments for keyword:show\n", kFailed}},
    };
    const Environment job = test_environment({"SLURM_JOB_NODELIST=x[1-2]"});
    for (const auto& c : cases) {
        FakeListings cluster;
        cluster.down = true;
        EXPECT_EQ(run(cluster, c.line, job), c.ran) << c.line;
        EXPECT_EQ(cluster.calls, 0) << c.line;
    }
    EXPECT_EQ(scontrol("show hostnames"), (Ran{"", "scontrol: error: host list is empty\n", 0}));
    EXPECT_EQ(scontrol("show hostnames n[1-1000000000]").exit, kFailed);
}

TEST(Scontrol, Controller) {
    EXPECT_EQ(scontrol("ping"), (Ran{"Slurmctld(primary) at head is UP\n", "", 0}));
    EXPECT_EQ(scontrol("version").out, std::string(kSlurmVersion) + "\n");
    EXPECT_EQ(scontrol("-V").out, std::string(kSlurmVersion) + "\n");
    EXPECT_EQ(scontrol("reconfigure"), (Ran{"", "", 0}));
    const std::string config = scontrol("show config").out;
    EXPECT_TRUE(config.starts_with("Configuration data as of 2026-12-01T12:00:00\n")) << config;
    EXPECT_NE(config.find("MinJobAge               = 300 sec\n"), config.npos);
    FakeListings cluster;
    cluster.down = true;
    const std::string refused = "Unable to contact slurm controller (connect failure)\n";
    EXPECT_EQ(run(cluster, "ping").exit, kFailed);
    EXPECT_TRUE(run(cluster, "ping").out.starts_with("Slurmctld(primary) at head is DOWN\n"));
    EXPECT_EQ(run(cluster, "show job").err, "slurm_load_jobs error: " + refused);
    EXPECT_EQ(run(cluster, "show part").err, "slurm_load_partitions error: " + refused);
    EXPECT_EQ(run(cluster, "reconfigure").err, "slurm_reconfigure error: " + refused);
}

TEST(Scontrol, Actions) {
    using api::JobAction;
    const struct {
        const char* line;
        JobAction action;
        std::vector<std::uint32_t> jobs;
    } cases[] = {
        {"hold 5", JobAction::Hold, {5}},
        {"hold 5,6", JobAction::Hold, {5, 6}},
        {"uhold 5 6", JobAction::UserHold, {5, 6}},
        {"release jobid=5", JobAction::Release, {5}},
        {"requeue 5", JobAction::Requeue, {5}},
        {"requeuehold 5", JobAction::RequeueHold, {5}},
        {"hold name=train", JobAction::Hold, {5}},
    };
    for (const auto& c : cases) {
        FakeListings cluster;
        add_yard(cluster);
        EXPECT_EQ(run(cluster, c.line), (Ran{"", "", 0})) << c.line;
        ASSERT_EQ(cluster.actions.size(), 1u) << c.line;
        EXPECT_EQ(cluster.actions[0].action, c.action) << c.line;
        EXPECT_EQ(cluster.actions[0].jobs, c.jobs) << c.line;
    }
    EXPECT_EQ(scontrol("hold 99"),
              (Ran{"",
                   "Invalid job id specified for job 99\n"
                   "slurm_suspend error: Invalid job id specified\n",
                   kFailed}));
    EXPECT_EQ(scontrol("requeue abc"),
              (Ran{"", "Invalid job id specified for job abc\n", kFailed}));
    EXPECT_EQ(scontrol("hold name=nosuch"),
              (Ran{"", "No jobs with user ID 1000 and name 'nosuch'\n", kFailed}));
    EXPECT_EQ(scontrol("hold"), (Ran{"", "too few arguments for keyword:hold\n", kFailed}));
}

TEST(Scontrol, Update) {
    using Settings = std::vector<std::pair<std::string, std::string>>;
    const struct {
        const char* line;
        std::vector<Settings> updates;
    } cases[] = {
        {"update JobId=5 TimeLimit=10 JobName=x",
         {{{"JobId", "5"}, {"TimeLimit", "10"}, {"JobName", "x"}}}},
        {"update jobid=5,6 nice=1",
         {{{"JobId", "5"}, {"nice", "1"}}, {{"JobId", "6"}, {"nice", "1"}}}},
        {"update JobName=train Partition=gpu", {{{"JobId", "5"}, {"Partition", "gpu"}}}},
        {"update NodeName=n1 State=DRAIN 'Reason=fan broken'",
         {{{"NodeName", "n1"}, {"State", "DRAIN"}, {"Reason", "fan broken"}}}},
        {"update NodeName=n1 State=RESUME", {{{"NodeName", "n1"}, {"State", "RESUME"}}}},
    };
    for (const auto& c : cases) {
        FakeListings cluster;
        add_yard(cluster);
        EXPECT_EQ(run(cluster, c.line), (Ran{"", "", 0})) << c.line;
        std::vector<Settings> updates;
        for (const auto& request : cluster.updates)
            updates.push_back(request.settings);
        EXPECT_EQ(updates, c.updates) << c.line;
    }
    const struct {
        const char* line;
        const char* err;
    } errors[] = {
        {"update", "too few arguments for update keyword\n"},
        {"update job", "Invalid input: job\nRequest aborted\n"},
        {"update JobId=5", "No changes specified\n"},
        {"update JobId=99 Nice=1",
         "Invalid job id specified for job 99\nslurm_update error: Invalid job id specified\n"},
        {"update NodeName=n99 State=RESUME", "slurm_update error: Invalid node name specified\n"},
        {"update JobId=5 Foo=unsupported",
         "Update of this parameter is not supported: Foo=unsupported\nRequest aborted\n"},
        {"update NodeName=n1 State=down",
         "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"},
    };
    for (const auto& c : errors)
        EXPECT_EQ(scontrol(c.line), (Ran{"", c.err, kFailed})) << c.line;
    EXPECT_TRUE(scontrol("update foo=1").err.starts_with("No valid entity in update command\n"));
}

TEST(Scontrol, Write) {
    EXPECT_EQ(scontrol("write batch_script 5 -"), (Ran{"#!/bin/sh\ntrue\n", "", 0}));
    EXPECT_EQ(scontrol("write batch_script 99 -"),
              (Ran{"", "job script retrieval failed: Invalid job id specified\n", kFailed}));
    const std::string path = ::testing::TempDir() + "scontrol_write";
    EXPECT_EQ(scontrol("write batch_script 5 " + path),
              (Ran{"batch script for job 5 written to " + path + "\n", "", 0}));
    EXPECT_EQ(scontrol("write batch_script 5 " + path + "/no/such").exit, kFailed);
    EXPECT_EQ(scontrol("write foo"), (Ran{"", "invalid write argument:foo\n", kFailed}));
}

TEST(Scontrol, NotBuilt) {
    for (const char* word : {"suspend", "resume", "top", "create", "delete", "reboot"}) {
        EXPECT_EQ(scontrol(std::string(word) + " 5"),
                  (Ran{"",
                       "scontrol: error: " + std::string(word) +
                           " is not built yet in this version of Twinyard\n",
                       kFailed}));
    }
    for (const char* line : {"show topology", "show daemons", "show res", "show step 5.0", ""}) {
        const Ran ran = scontrol(line);
        EXPECT_EQ(ran.exit, kFailed) << line;
        EXPECT_TRUE(ran.err.ends_with("not built yet in this version of Twinyard\n")) << line;
    }
    EXPECT_EQ(scontrol("foo"), (Ran{"", "invalid keyword: foo\n", kFailed}));
    EXPECT_EQ(scontrol("show foo"), (Ran{"", "invalid entity:foo for keyword:show \n", kFailed}));
}

}  // namespace
}  // namespace twinyard::cli
