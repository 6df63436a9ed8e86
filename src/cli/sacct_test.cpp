#include <gtest/gtest.h>

#include <ostream>

#include "cli/fake_listings.h"

namespace twinyard::cli {
namespace {

using api::AccountingRecord;
using testing::FakeListings;
using testing::kNow;
using testing::Ran;
using testing::run_line;
using testing::test_environment;

constexpr std::int64_t kHour = 3'600'000;

WallTime at(std::int64_t ms) {
    return WallTime(Millis(ms));
}

AccountingRecord job(std::uint32_t id, std::string name, model::WorkloadState state) {
    AccountingRecord record;
    record.workload = model::WorkloadId(id);
    record.job = model::JobId(id);
    record.name = std::move(name);
    record.queue = "ml";
    record.qos = "normal";
    record.partition = "gpu";
    record.uid = record.gid = 1000;
    record.state = state;
    record.nodes = 1;
    record.cpus = 4;
    record.submitted = record.eligible = at(kNow - kHour);
    return record;
}

/// 5: ran 30 minutes, with a batch step. 6: bob's, cancelled by root. 7: runs. 8: waits. 9: of the
/// day before. 10: requeued once, waits again.
void add_history(FakeListings& cluster) {
    using model::WorkloadState;
    AccountingRecord train = job(5, "train", WorkloadState::Done);
    train.outcome = {.kind = model::EndKind::Completed};
    train.started = at(kNow - kHour);
    train.ended = at(kNow - kHour / 2);
    train.node_list = "n1";
    train.alloc_tres = "cpu=4,mem=8G,node=1";
    train.req_tres = "cpu=4,mem=8G,node=1";
    AccountingRecord batch = train;
    batch.step = api::kBatchStep;
    batch.name = "batch";
    batch.tasks = 1;
    batch.usage.memory_peak_bytes = 2 << 20;
    AccountingRecord other = job(6, "other", WorkloadState::Done);
    other.uid = 1001;
    other.qos = "high";
    other.partition = "cpu";
    other.queue = "bio";
    other.outcome = {.kind = model::EndKind::Cancelled, .signal = 15};
    other.started = at(kNow - kHour);
    other.ended = at(kNow - 1000);
    AccountingRecord runs = job(7, "runs", WorkloadState::Running);
    runs.started = at(kNow - 60'000);
    const AccountingRecord waits = job(8, "waits", WorkloadState::Pending);
    AccountingRecord old = job(9, "old", WorkloadState::Done);
    old.outcome = {.kind = model::EndKind::Failed, .exit_code = 3};
    old.submitted = old.started = at(kNow - 26 * kHour);
    old.ended = at(kNow - 25 * kHour);
    AccountingRecord first = job(10, "again", WorkloadState::Done);
    first.requeued = true;
    first.started = at(kNow - kHour);
    first.ended = at(kNow - 2000);
    AccountingRecord second = job(10, "again", WorkloadState::Pending);
    second.attempt = 1;
    cluster.history = {train, batch, other, runs, waits, old, first, second};
}

Ran sacct(std::string_view line, const Environment& environment = test_environment()) {
    FakeListings cluster;
    add_history(cluster);
    return run_line(run_sacct, "sacct", line, cluster, environment);
}
std::string ids(std::string_view line, const Environment& environment = test_environment()) {
    const Ran ran = sacct(std::string(line) + " -n -P -o jobid", environment);
    std::string text = ran.out + ran.err;
    std::ranges::replace(text, '\n', ',');
    return text;
}

TEST(Sacct, DefaultLines) {
    EXPECT_EQ(
        sacct("-j 5,6"),
        (Ran{"JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
             "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
             "5                 train        gpu         ml          4  COMPLETED      0:0 \n"
             "5.batch           batch                    ml          4  COMPLETED      0:0 \n"
             "6                 other        cpu        bio          4 CANCELLED+     0:15 \n",
             "",
             0}));
}

TEST(Sacct, Formats) {
    const struct {
        const char* line;
        const char* out;
    } cases[] = {
        {"-j 6 -o JobID,State,NodeList --parsable2",
         "JobID|State|NodeList\n6|CANCELLED by 0|None assigned\n"},
        {"-X -p -j 5 --fields=jobid,state", "JobID|State|\n5|COMPLETED|\n"},
        {"-n -X -P -j 5 --delimiter ## --format jobid,state", "5##COMPLETED\n"},
        {"-b -n -X -P -j 9", "9|FAILED|3:0\n"},
        {"-n -X -P -j 5 -o jobid -o state", "5|COMPLETED\n"},
        {"-n -X -j 5 -o jobid%4,jobname%-8", "   5 train    \n"},
        {"-n -P -j 5.batch -o maxrss", "2M\n"},
        {"-n -P -j 5.batch -o maxrss --noconvert", "2048K\n"},
        {"-n -P -j 5.batch -o maxrss --units=G", "0.00G\n"},
        {"-nXPj5 -o elapsed", "00:30:00\n"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(sacct(c.line), (Ran{c.out, "", 0})) << c.line;
    EXPECT_TRUE(sacct("-l -P -j 5").out.starts_with("JobID|JobIDRaw|JobName|Partition|MaxVMSize|"));
    const Environment own = test_environment({"SACCT_FORMAT=jobname"});
    EXPECT_EQ(sacct("-n -P -X -j 5", own).out, "train\n");
    EXPECT_EQ(sacct("-n -P -X -j 5 -o jobid", own).out, "5\n");
    EXPECT_EQ(sacct("-o foo"),
              (Ran{"", "sacct: error: Invalid field requested: \"foo\"\n", kFailed}));
    EXPECT_EQ(
        sacct("--units=X"),
        (Ran{"", "sacct: error: Invalid unit type 'X'. Possible options are 'KMGTP'\n", kFailed}));
}

TEST(Sacct, HelpFormat) {
    FakeListings cluster;
    const Ran ran = run_line(run_sacct, "sacct", "-e", cluster);
    EXPECT_TRUE(ran.out.starts_with("Account             AdminComment ")) << ran.out;
    EXPECT_EQ(cluster.calls, 0);
}

TEST(Sacct, Users) {
    EXPECT_EQ(ids("-X"), "5,7,8,10,");
    EXPECT_EQ(ids("-X -a"), "5,6,7,8,10,");
    EXPECT_EQ(ids("-X -u bob"), "6,");
    EXPECT_EQ(ids("-X --user=1001,ada"), "5,6,7,8,10,");
    Environment root = test_environment();
    root.uid = 0;
    EXPECT_EQ(ids("-X", root), "5,6,7,8,10,");
    EXPECT_EQ(sacct("-u nobody-such"),
              (Ran{"", "sacct: error: Invalid user id: nobody-such\n", kFailed}));
}

TEST(Sacct, Filters) {
    EXPECT_EQ(ids("-a -X -A bio"), "6,");
    EXPECT_EQ(ids("-a -X -r cpu,gpu -q high"), "6,");
    EXPECT_EQ(ids("-X -r gpu"), "5,7,8,10,");
    EXPECT_EQ(ids("-X --name=runs,waits"), "7,8,");
    // The steps of a job that is asked for by its name have names of their own.
    EXPECT_EQ(ids("--name train"), "5,5.batch,");
}

TEST(Sacct, Jobs) {
    EXPECT_EQ(ids("-j 5"), "5,5.batch,");
    EXPECT_EQ(ids("-j 6 -j 9"), "6,9,");
    EXPECT_EQ(ids("-X -j 5-7"), "5,6,7,");
    EXPECT_EQ(ids("-j 5.batch"), "5.batch,");
    EXPECT_EQ(ids("-j 99"), "");
    EXPECT_EQ(ids("-j 5_3,5_[1-2,7%2]"), "");
    EXPECT_EQ(sacct("-j abc"), (Ran{"", "sacct: fatal: Bad job/step specified: abc\n", kFailed}));
    EXPECT_EQ(sacct("-j 5.x").exit, kFailed);
}

TEST(Sacct, Steps) {
    EXPECT_EQ(ids("-j 5"), "5,5.batch,");
    EXPECT_EQ(ids("-X -j 5"), "5,");
    EXPECT_EQ(ids("--allocations -j 5"), "5,");
}

TEST(Sacct, Attempts) {
    EXPECT_EQ(sacct("-n -P -j 10 -o jobid,state").out, "10|PENDING\n");
    EXPECT_EQ(sacct("-n -P -D -j 10 -o jobid,state").out, "10|REQUEUED\n10|PENDING\n");
}

TEST(Sacct, Window) {
    // Midnight to now; with -j all of history.
    EXPECT_EQ(ids("-X"), "5,7,8,10,");
    EXPECT_EQ(ids("-X -j 9"), "9,");
    EXPECT_EQ(ids("-X -S now-2days"), "5,7,8,9,10,");
    EXPECT_EQ(ids("-X -S 2026-11-30 -E 2026-12-01T00:00:00"), "9,");
    EXPECT_EQ(ids("-X --starttime 11:45"), "7,8,10,");
    EXPECT_EQ(ids("-X -S 1970-01-01-00:00:01 --endtime now"), "5,7,8,9,10,");
    EXPECT_EQ(sacct("-S foo"), (Ran{"", "Invalid time specification (pos=0): foo\n", kFailed}));
    EXPECT_EQ(sacct("-S 12:00 -E 11:00").exit, kFailed);
}

TEST(Sacct, States) {
    // Without a time: what is so now.
    EXPECT_EQ(ids("-X -s RUNNING"), "7,");
    EXPECT_EQ(ids("-X -s r,pd"), "7,8,10,");
    EXPECT_EQ(ids("-X -a -s CANCELLED"), "");
    EXPECT_EQ(ids("-X -a -s CANCELLED -S 00:00 -E now"), "6,");
    EXPECT_EQ(ids("-X -s CD -j 5,6,9"), "5,");
    // 5 ran at a quarter past eleven.
    EXPECT_EQ(ids("-X -s R -S 11:15 -E 11:16"), "5,");
    EXPECT_EQ(sacct("-s FOO"),
              (Ran{"", "sacct: fatal: unrecognized job state value 'FOO'\n", kFailed}));
}

TEST(Sacct, Clusters) {
    EXPECT_EQ(ids("-X -M all"), "5,7,8,10,");
    EXPECT_EQ(ids("-X --clusters yard"), "5,7,8,10,");
    EXPECT_EQ(sacct("-M elsewhere").exit, kFailed);
}

TEST(Sacct, Errors) {
    FakeListings cluster;
    cluster.down = true;
    const Ran ran = run_line(run_sacct, "sacct", "", cluster);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_TRUE(ran.err.ends_with("Unable to contact slurm controller (connect failure)\n"));
    EXPECT_EQ(sacct("foo"), (Ran{"", "Unknown arguments:\n foo\n", kFailed}));
    for (const char* line : {"--json", "-N n1", "-B"})
        EXPECT_TRUE(sacct(line).err.ends_with("not built yet in this version of Twinyard\n"));
}

}  // namespace
}  // namespace twinyard::cli
