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

api::NodeRow node(std::string name, std::string base, std::uint32_t cpus) {
    api::NodeRow row;
    row.host_name = row.name = std::move(name);
    row.base_state = std::move(base);
    row.cpus = cpus;
    row.memory_mb = 1000;
    row.gres = "gpu:h100:8";
    return row;
}

/// `gpu`, the default: n1 mixed, n2 and n3 idle, n4 drained. `cpu`: n3 and n5, which is gone.
/// `secret`: n1, hidden.
void add_yard(FakeListings& cluster) {
    cluster.nodes = {node("n1", "MIXED", 8),
                     node("n2", "IDLE", 8),
                     node("n3", "IDLE", 16),
                     node("n4", "IDLE", 8),
                     node("n5", "DOWN", 8)};
    cluster.nodes[0].cpus_alloc = 2;
    cluster.nodes[3].drain = true;
    cluster.nodes[3].reason = "fan broken";
    cluster.nodes[3].reason_uid = 0;
    cluster.nodes[3].reason_ms = kNow;
    cluster.nodes[4].down = cluster.nodes[4].no_respond = true;
    cluster.nodes[4].reason = "Not responding";
    const auto partition = [&](const char* name, std::vector<std::string> nodes) {
        api::PartitionRow row;
        row.name = name;
        row.state = "UP";
        row.node_names = std::move(nodes);
        row.oversubscribe = "NO";
        row.allow_groups = "ALL";
        cluster.partitions.push_back(row);
    };
    partition("gpu", {"n1", "n2", "n3", "n4"});
    partition("cpu", {"n3", "n5"});
    partition("secret", {"n1"});
    cluster.partitions[0].is_default = true;
    cluster.partitions[0].time_max_s = 604'800;
    cluster.partitions[2].hidden = true;
}

Ran sinfo(std::string_view line, const Environment& environment = test_environment()) {
    FakeListings cluster;
    add_yard(cluster);
    return run_line(run_sinfo, "sinfo", line, cluster, environment);
}

struct Case {
    const char* line;
    const char* out;
};
void check(std::span<const Case> cases) {
    for (const Case& c : cases)
        EXPECT_EQ(sinfo(c.line), (Ran{c.out, "", 0})) << c.line;
}

TEST(Sinfo, DefaultLines) {
    EXPECT_EQ(sinfo(""),
              (Ran{"PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
                   "gpu*         up 7-00:00:00      1  drain n4\n"
                   "gpu*         up 7-00:00:00      1    mix n1\n"
                   "gpu*         up 7-00:00:00      2   idle n[2-3]\n"
                   "cpu          up   infinite      1  down* n5\n"
                   "cpu          up   infinite      1   idle n3\n",
                   "",
                   0}));
}

TEST(Sinfo, Formats) {
    const Case cases[] = {
        {"-h -p cpu",
         "cpu          up   infinite      1  down* n5\n"
         "cpu          up   infinite      1   idle n3\n"},
        {"-o %P", "PARTITION\ngpu*\ncpu\n"},
        {"-aho %F/%C", "1/2/2/5/2/30/16/48\n"},
        {"-h -p gpu -o '%D,%T'", "1,drained\n1,mixed\n2,idle\n"},
        {"-ho %R", "gpu\ncpu\n"},
        {"-h -O nodes:5,statelong -p cpu",
         "1    down*               \n1    idle                \n"},
        {"-h -N -p cpu", "n3             1       cpu idle  \nn5             1       cpu down* \n"},
        {"-s -p gpu",
         "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n"
         "gpu*         up 7-00:00:00          1/2/1/4 n[1-4]\n"},
        {"-R",
         "REASON               USER      TIMESTAMP           NODELIST\n"
         "fan broken           root      2026-12-01T12:00:00 n4\n"
         "Not responding       Unknown   Unknown             n5\n"},
        {"-l -p cpu -t idle",
         "Tue Dec 01 12:00:00 2026\n"
         "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE "
         "RESERVATION NODELIST\n"
         "cpu          up   infinite 1-infinite   no       NO        all      1        idle       "
         "      n3\n"},
        {"-h -N -l -n n4 -o %N", "n4\n"},
        {"-h -p cpu -O cluster:0", "yard\n"},
    };
    check(cases);
    EXPECT_EQ(sinfo("-h", test_environment({"SINFO_FORMAT=%R"})).out, "gpu\ncpu\n");
    EXPECT_EQ(sinfo("-h -o %P", test_environment({"SINFO_FORMAT=%R"})).out, "gpu*\ncpu\n");
}

TEST(Sinfo, Filters) {
    const Case cases[] = {
        {"-h -o %N -p gpu,cpu -t idle", "n[2-3]\n"},
        {"-h -o %N -t drain", "n4\n"},
        {"-h -o %N -t idle,mix", "n[1-3]\n"},
        {"-h -o %N -n n[1-2]", "n[1-2]\n"},
        {"-h -o %N -d", "n5\n"},
        {"-h -o %N -r", "n[1-4]\n"},
        {"-h -N -o %R -n n3", "gpu\ncpu\n"},
        // A partition of which nothing is left still has its line.
        {"-h -t down -p gpu", "gpu*         up 7-00:00:00      0    n/a \n"},
        {"-h -p nowhere", ""},
    };
    check(cases);
    EXPECT_EQ(sinfo("-h -o %R", test_environment({"SINFO_PARTITION=cpu"})).out, "cpu\n");
    const Ran bad = sinfo("-t foo");
    EXPECT_EQ(bad.exit, kFailed);
    EXPECT_TRUE(
        bad.err.starts_with("sinfo: error: Bad state string: \"foo\"\n"
                            "sinfo: error: valid states: "))
        << bad.err;
}

TEST(Sinfo, HiddenPartitions) {
    EXPECT_EQ(sinfo("-h -o %R -a").out, "gpu\ncpu\nsecret\n");
    EXPECT_EQ(sinfo("-h -o %R -a --hide").out, "gpu\ncpu\n");
    EXPECT_EQ(sinfo("-h -o %R -p secret").out, "secret\n");
    EXPECT_EQ(sinfo("-h -o %R", test_environment({"SINFO_ALL=1"})).out, "gpu\ncpu\nsecret\n");
}

TEST(Sinfo, Folding) {
    EXPECT_EQ(sinfo("-h -p gpu -t idle -o '%D %c'").out, "2 8+\n");
    EXPECT_EQ(sinfo("-h -p gpu -t idle -e -S c -o '%D %c'").out, "1 16\n1 8\n");
}

TEST(Sinfo, Sort) {
    EXPECT_EQ(sinfo("-h -o %R -S R").out, "cpu\ngpu\n");
    EXPECT_EQ(sinfo("-h -o %R", test_environment({"SINFO_SORT=R"})).out, "cpu\ngpu\n");
    EXPECT_EQ(sinfo("-S =").exit, kFailed);
}

TEST(Sinfo, Errors) {
    FakeListings cluster;
    cluster.down = true;
    EXPECT_EQ(run_line(run_sinfo, "sinfo", "", cluster),
              (Ran{"",
                   "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n",
                   kFailed}));
    EXPECT_EQ(sinfo("foo").exit, kFailed);
    for (const char* line : {"--json", "-i 5", "-T", "-F", "-M all"})
        EXPECT_TRUE(sinfo(line).err.ends_with("not built yet in this version of Twinyard\n"));
}

}  // namespace
}  // namespace twinyard::cli
