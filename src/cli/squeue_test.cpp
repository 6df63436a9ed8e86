#include <gtest/gtest.h>

#include <ostream>

#include "cli/fake_listings.h"

namespace twinyard::cli {
namespace {

using testing::FakeListings;
using testing::kNow;
using testing::Ran;
using testing::run_line;
using testing::test_environment;

void add_four_jobs(FakeListings& cluster) {
    cluster.jobs = {
        {.job = 5,
         .name = "train",
         .account = "ml",
         .qos = "high",
         .partition = "gpu",
         .uid = 1000,
         .gid = 1000,
         .state = "RUNNING",
         .base_state = "RUNNING",
         .reason = "None",
         .priority = 10,
         .start_ms = kNow - 90'000,
         .run_time_ms = 90'000,
         .time_limit_s = 3600,
         .nodes = 2,
         .mem_per_node_mb = 65536,
         .node_list = "n[1-2]"},
        {.job = 6,
         .name = "wait",
         .account = "ml",
         .qos = "normal",
         .partition = "gpu",
         .uid = 1001,
         .state = "PENDING",
         .base_state = "PENDING",
         .reason = "Resources",
         .priority = 20,
         .expected_start_ms = kNow + 3'600'000,
         .expected_nodes = "n[1-4]",
         .time_limit_s = -1,
         .nodes = 4},
        {.job = 7,
         .name = "late",
         .account = "bio",
         .qos = "normal",
         .partition = "gpu",
         .uid = 1000,
         .state = "PENDING",
         .base_state = "PENDING",
         .reason = "Priority",
         .priority = 30,
         .expected_start_ms = kNow + 7'200'000,
         .time_limit_s = 60,
         .nodes = 1},
        {.job = 8,
         .name = "over",
         .account = "bio",
         .qos = "normal",
         .partition = "cpu",
         .uid = 1000,
         .state = "COMPLETED",
         .base_state = "COMPLETED",
         .reason = "None",
         .nodes = 1,
         .node_list = "n3"},
    };
    for (const char* name : {"n1", "n2", "n3", "n4"})
        cluster.nodes.push_back({.name = name});
}

constexpr std::string_view kHeader =
    "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n";

Ran squeue(std::string_view line, const Environment& environment = test_environment()) {
    FakeListings cluster;
    add_four_jobs(cluster);
    return run_line(run_squeue, "squeue", line, cluster, environment);
}
/// The ids that a filter leaves.
std::string ids(std::string_view line, const Environment& environment = test_environment()) {
    const Ran ran = squeue(std::string(line) + " -h -o %i,", environment);
    std::string text = ran.out + ran.err;
    std::erase(text, '\n');
    return text;
}

TEST(Squeue, DefaultLines) {
    EXPECT_EQ(
        squeue(""),
        (Ran{std::string(kHeader) +
                 "                 7       gpu     late      ada PD       0:00      1 "
                 "(Priority)\n"
                 "                 6       gpu     wait      bob PD       0:00      4 "
                 "(Resources)\n"
                 "                 5       gpu    train      ada  R       1:30      2 n[1-2]\n",
             "",
             0}));
}

TEST(Squeue, Formats) {
    const struct {
        const char* line;
        const char* out;
    } cases[] = {
        {"-j 5 -h -o '%i|%T'", "5|RUNNING\n"},
        {"-hj5 '-o %A|%u'", " 5|ada\n"},
        {"--noheader '--format={\"id\": %A}' --job=5", "{\"id\": 5}\n"},
        {"-j 5 -O jobid:|,state:.8", "JOBID|   STATE\n5| RUNNING\n"},
        {"-h -j 5 -O JobID:###,Name:5", "5###train\n"},
        {"-j 5 --only-job-state", "             JOBID ST\n                 5  R\n"},
        {"-j 5 --only-job-state -o %i -h", "5\n"},
        {"-h -j 5 -o %m", "64G\n"},
        {"-h -j 5 -o %m --noconvert", "65536M\n"},
        {"-h -j 5 -O cluster:0", "yard\n"},
        {"-l -j 5",
         "Tue Dec 01 12:00:00 2026\n"
         "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES "
         "NODELIST(REASON)\n"
         "                 5       gpu    train      ada  RUNNING       1:30   1:00:00      2 "
         "n[1-2]\n"},
    };
    for (const auto& c : cases) {
        const Ran ran = squeue(c.line);
        EXPECT_EQ(ran.err + ran.out, c.out) << c.line;
        EXPECT_EQ(ran.exit, kOk) << c.line;
    }
    const Environment own = test_environment({"SQUEUE_FORMAT=%j"});
    EXPECT_EQ(squeue("-h -j 5", own).out, "train\n");
    EXPECT_EQ(squeue("-h -j 5 -o %i", own).out, "5\n");
    EXPECT_TRUE(squeue("-h -l -j 5", own).out.starts_with("                 5"));
    EXPECT_EQ(squeue("-h -j 5", test_environment({"SQUEUE_FORMAT2=name:0"})).out, "train\n");
    EXPECT_EQ(squeue("-h -j 7 -o %S", test_environment({"SLURM_TIME_FORMAT=%H:%M"})).out,
              "14:00\n");
}

TEST(Squeue, Filters) {
    const struct {
        const char* line;
        const char* ids;
    } cases[] = {
        {"", "7,6,5,"},
        {"-A bio", "7,"},
        {"-A bio,ml", "7,6,5,"},
        {"-n train,wait", "6,5,"},
        {"--name=nothing", ""},
        {"-p cpu -t all", "8,"},
        {"-p nowhere", ""},
        {"-q high", "5,"},
        {"--me", "7,5,"},
        {"--notme", "6,"},
        {"-p cpu -p gpu", "7,6,5,"},
        {"-a -r", "7,6,5,"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(ids(c.line), c.ids) << c.line;
    EXPECT_EQ(ids("", test_environment({"SQUEUE_PARTITION=cpu"})), "");
    EXPECT_EQ(ids("-p gpu", test_environment({"SQUEUE_PARTITION=cpu"})), "7,6,5,");
    EXPECT_EQ(ids("", test_environment({"SQUEUE_NAMES=train", "SQUEUE_ACCOUNT=ml"})), "5,");
    EXPECT_EQ(ids("", test_environment({"SQUEUE_QOS=high"})), "5,");
}

TEST(Squeue, Users) {
    EXPECT_EQ(ids("-u bob"), "6,");
    EXPECT_EQ(ids("-u 1000"), "7,5,");
    EXPECT_EQ(ids("", test_environment({"SQUEUE_USERS=bob"})), "6,");
    EXPECT_EQ(squeue("-u nobody-such"),
              (Ran{std::string(kHeader), "squeue: error: Invalid user: nobody-such\n", 0}));
    EXPECT_EQ(squeue("-h -o %i -u nobody-such,bob"),
              (Ran{"6\n", "squeue: error: Invalid user: nobody-such\n", 0}));
}

TEST(Squeue, States) {
    EXPECT_EQ(ids("-t all"), "8,7,6,5,");
    EXPECT_EQ(ids("-t CD"), "8,");
    EXPECT_EQ(ids("-t running,completed"), "8,5,");
    EXPECT_EQ(ids("", test_environment({"SQUEUE_STATES=all"})), "8,7,6,5,");
    const Ran ran = squeue("-t foo");
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_TRUE(
        ran.err.starts_with("squeue: error: Invalid job state specified: foo\n"
                            "squeue: error: Valid job states include: PENDING,RUNNING,"))
        << ran.err;
}

TEST(Squeue, Jobs) {
    const Ran unknown{"", "slurm_load_jobs error: Invalid job id specified\n", kFailed};
    EXPECT_EQ(squeue("-j 99"), unknown);
    EXPECT_EQ(squeue("-j 98,99"), (Ran{std::string(kHeader), "", 0}));
    EXPECT_EQ(ids("-j 5,99"), "5,");
    // It is there, but finished: no line and no error.
    EXPECT_EQ(squeue("-j 8"), (Ran{std::string(kHeader), "", 0}));
    EXPECT_EQ(ids("-j 8 -t all"), "8,");
    // Elements of arrays that are none.
    EXPECT_EQ(squeue("-j 5_3"), (Ran{std::string(kHeader), "", 0}));
    EXPECT_EQ(squeue("-j abc"), (Ran{"", "squeue: error: Invalid job id: abc\n", kFailed}));
    EXPECT_EQ(squeue("foo").err.substr(0, 40), "squeue: error: Unrecognized option: foo\n");
}

TEST(Squeue, Nodes) {
    EXPECT_EQ(ids("-w n1"), "5,");
    EXPECT_EQ(ids("-w n[2-4]"), "5,");
    EXPECT_EQ(ids("-w n3 -t all"), "8,");
    EXPECT_EQ(squeue("-w n[1,9]"), (Ran{"", "squeue: error: Invalid node name n9\n", kFailed}));
    EXPECT_EQ(squeue("-w n[1-").exit, kFailed);
}

TEST(Squeue, Sort) {
    EXPECT_EQ(ids("-S i"), "5,6,7,");
    EXPECT_EQ(ids("-S -i"), "7,6,5,");
    EXPECT_EQ(ids("-S u,j"), "7,5,6,");
    EXPECT_EQ(ids("", test_environment({"SQUEUE_SORT=i"})), "5,6,7,");
    EXPECT_EQ(squeue("-S =").exit, kFailed);
}

TEST(Squeue, Start) {
    FakeListings cluster;
    add_four_jobs(cluster);
    cluster.jobs.insert(cluster.jobs.begin(),
                        {.job = 4, .state = "PENDING", .base_state = "PENDING", .nodes = 1});
    cluster.jobs.front().reason = "JobHeldUser";
    const Ran ran = run_line(run_squeue, "squeue", "--start", cluster);
    EXPECT_EQ(ran.out,
              "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES "
              "SCHEDNODES           NODELIST(REASON)\n"
              "                 6       gpu     wait      bob PD 2026-12-01T13:00:00      4 "
              "n[1-4]               (Resources)\n"
              "                 7       gpu     late      ada PD 2026-12-01T14:00:00      1 "
              "(null)               (Priority)\n"
              "                 4                        root PD                 N/A      1 "
              "(null)               (JobHeldUser)\n");
    EXPECT_TRUE(cluster.job_query.with_forecast);
    (void)run_line(run_squeue, "squeue", "", cluster);
    EXPECT_FALSE(cluster.job_query.with_forecast);
}

TEST(Squeue, ControllerDown) {
    FakeListings cluster;
    cluster.down = true;
    EXPECT_EQ(run_line(run_squeue, "squeue", "", cluster),
              (Ran{"",
                   "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
                   kFailed}));
}

TEST(Squeue, NotBuilt) {
    for (const char* line : {"--json", "-i 5", "-s", "--yaml", "-M all", "-L x"}) {
        const Ran ran = squeue(line);
        EXPECT_EQ(ran.exit, kFailed) << line;
        EXPECT_TRUE(ran.err.ends_with(" is not built yet in this version of Twinyard\n")) << line;
    }
}

}  // namespace
}  // namespace twinyard::cli
