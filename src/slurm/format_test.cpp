// What squeue, sinfo, sacct and scontrol print, byte for byte.
#include "slurm/format.h"

#include <gtest/gtest.h>

#include "slurm/sacct_format.h"
#include "slurm/scontrol_text.h"
#include "slurm/sinfo_format.h"
#include "slurm/squeue_format.h"

namespace twinyard::slurm {
namespace {

/// 2026-12-01 10:00:00 UTC.
constexpr std::int64_t kNowMs = 1796119200000;

TextContext context() {
    TextContext out;
    out.user_name = [](std::uint32_t uid) { return uid == 0 ? std::string("root") : "ada"; };
    out.group_name = [](std::uint32_t) { return std::string("staff"); };
    out.now_ms = kNowMs;
    return out;
}

api::JobRow running(std::uint32_t id) {
    api::JobRow row;
    row.job = id;
    row.name = "llama70b-long";
    row.account = "physics";
    row.qos = "normal";
    row.partition = "train";
    row.uid = row.gid = 1000;
    row.state = row.base_state = "RUNNING";
    row.reason = "None";
    row.priority = 4294;
    row.submit_ms = kNowMs - 120'000;
    row.eligible_ms = row.submit_ms;
    row.start_ms = kNowMs - 65'000;
    row.end_ms = row.start_ms + 3600'000;
    row.run_time_ms = 65'000;
    row.time_limit_s = 3600;
    row.nodes = row.nodes_min = 2;
    row.cpus = 4;
    row.tasks = 2;
    row.cpus_per_task = 1;
    row.mem_per_node_mb = 2048;
    row.node_list = "n[1-2]";
    row.batch_host = "n1";
    row.req_tres = "cpu=2,mem=4G,node=2,billing=2";
    row.alloc_tres = "cpu=4,mem=4G,node=2,billing=4";
    row.oversubscribe = "OK";
    row.work_dir = "/home/alice";
    row.command = "/home/alice/train.sh";
    row.std_in = "/dev/null";
    row.std_out = row.std_err = "/home/alice/slurm-7.out";
    row.submit_host = "login";
    return row;
}

api::JobRow pending(std::uint32_t id) {
    api::JobRow row = running(id);
    row.state = row.base_state = "PENDING";
    row.reason = "Resources";
    row.start_ms = row.end_ms = row.run_time_ms = 0;
    row.node_list = row.batch_host = row.alloc_tres = "";
    return row;
}

std::string print(const Layout& layout, const api::JobRow& row) {
    std::string out;
    append_job(out, layout, row, context());
    return out;
}

std::string header(const Layout& layout) {
    std::string out;
    append_header(out, layout);
    return out;
}

TEST(Squeue, DefaultAndLong) {
    const Layout plain = squeue_layout(kSqueueDefault);
    EXPECT_EQ(header(plain),
              "             JOBID PARTITION     NAME     USER ST       TIME  NODES "
              "NODELIST(REASON)\n");
    EXPECT_EQ(print(plain, running(7)),
              "                 7     train llama70b      ada  R       1:05      2 n[1-2]\n");
    EXPECT_EQ(print(plain, pending(8)),
              "                 8     train llama70b      ada PD       0:00      2 (Resources)\n");
    const Layout wide = squeue_layout(kSqueueLong);
    EXPECT_EQ(header(wide),
              "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES "
              "NODELIST(REASON)\n");
    EXPECT_EQ(print(wide, running(7)),
              "                 7     train llama70b      ada  RUNNING       1:05   1:00:00      2 "
              "n[1-2]\n");
}

TEST(Squeue, StartIsWhatIsExpected) {
    api::JobRow row = pending(8);
    EXPECT_EQ(print(squeue_layout(kSqueueStart), row),
              "                 8     train llama70b      ada PD                 N/A      2 "
              "(null)               (Resources)\n");
    row.expected_start_ms = kNowMs + 3600'000;
    row.expected_nodes = "n[3-4]";
    EXPECT_EQ(print(squeue_layout(kSqueueStart), row),
              "                 8     train llama70b      ada PD 2026-12-01T11:00:00      2 "
              "n[3-4]               (Resources)\n");
}

TEST(Squeue, Letters) {
    const std::vector<std::pair<const char*, const char*>> rows = {
        {"%i|%T", "7|RUNNING\n"},
        {" %A|%a|%T|%C", " 7|physics|RUNNING|4\n"},
        {R"({"id": %A, "end_time": "%e", "cpu": %C, "mem": "%m", "k": "%K"})",
         R"({"id": 7, "end_time": "2026-12-01T10:58:55", "cpu": 4, "mem": "2G", "k": "N/A"})"
         "\n"},
        {"%T %B", "RUNNING n1\n"},
        {"%k,%A", "(null),7\n"},
        {"[%10u][%.10u][%2u]", "[ada       ][       ada][ad]\n"},
        {"%l %L %M", "1:00:00 58:55 1:05\n"},
        {"%g %G %U", "staff 1000 1000\n"},
        {"%r %Q %q", "None 4294 normal\n"},
        {"%S %V", "2026-12-01T09:58:55 2026-12-01T09:58:00\n"},
        {"%o %Z", "/home/alice/train.sh /home/alice\n"},
        {"%z %H", "*:*:* *\n"},
        {"plain", "plain\n"},
    };
    for (const auto& [format, expected] : rows) {
        const Layout layout = squeue_layout(format);
        EXPECT_TRUE(layout.errors.empty()) << format;
        EXPECT_EQ(print(layout, running(7)), expected) << format;
    }
}

TEST(Squeue, LongNamesWithSuffixes) {
    const std::vector<std::pair<const char*, const char*>> rows = {
        {"jobid,state", "7                   RUNNING             \n"},
        {"JobID:5,username:.6", "7       ada\n"},
        {"jobid:0|,state:\x1f,", "7|RUNNING\x1f\n"},
        {"jobid:###turm###,state", "7###turm###RUNNING             \n"},
        {"JobArrayID:0,tres-alloc:0 ,numtasks:0", "7cpu=4,mem=4G,node=2,billing=4 2\n"},
        {"stdout:0;,reasonlist:0", "/home/alice/slurm-7.out;n[1-2]\n"},
        {"pendingtime:0", "55\n"},
    };
    for (const auto& [format, expected] : rows)
        EXPECT_EQ(print(squeue_name_layout(format), running(7)), expected) << format;
    EXPECT_EQ(header(squeue_name_layout("jobid:0 ,statecompact:0")), "JOBID ST\n");
}

TEST(Squeue, UnknownFieldsAreReported) {
    const Layout letters = squeue_layout("%i %! x");
    EXPECT_EQ(letters.errors, (std::vector<std::string>{"Invalid job format specification: !"}));
    EXPECT_EQ(print(letters, running(7)), "7 %! x\n");
    EXPECT_EQ(squeue_name_layout("jobid,foo").errors,
              (std::vector<std::string>{"Invalid job format specification: foo"}));
}

TEST(Squeue, SortsByPartitionCompactStateAndPriority) {
    std::vector<api::JobRow> rows = {running(1), pending(2), pending(3), running(4)};
    rows[2].priority = 9999;
    rows[3].state = "COMPLETING";
    ASSERT_TRUE(sort_jobs(rows, kSqueueSort, context()).has_value());
    std::vector<std::uint32_t> order;
    for (const api::JobRow& row : rows)
        order.push_back(row.job);
    EXPECT_EQ(order, (std::vector<std::uint32_t>{4, 3, 2, 1}));
    ASSERT_TRUE(sort_jobs(rows, "-i", context()).has_value());
    EXPECT_EQ(rows.front().job, 4U);
    EXPECT_EQ(sort_jobs(rows, "!", context()).error().message(),
              "Invalid job sort specification: !");
}

// ---- sinfo

struct Nodes {
    std::vector<api::NodeRow> nodes;
    std::vector<api::PartitionRow> partitions;

    Nodes() {
        add("n1", "IDLE");
        add("n2", "MIXED").cpus_alloc = 2;
        add("n3", "IDLE").drain = true;
        add("n4", "IDLE");
        api::NodeRow& lost = add("n5", "DOWN");
        lost.down = lost.no_respond = true;
        lost.reason = "no agent";
        partition("train", {"n1", "n2", "n3", "n4", "n5"}).time_max_s = 7 * 86'400;
        partition("debug", {"n1"}).is_default = true;
    }
    api::NodeRow& add(const char* name, const char* base) {
        api::NodeRow row;
        row.name = row.address = row.host_name = name;
        row.base_state = base;
        row.cpus = 4;
        row.memory_mb = 1000;
        return nodes.emplace_back(row);
    }
    api::PartitionRow& partition(const char* name, std::vector<std::string> names) {
        api::PartitionRow row;
        row.name = name;
        row.state = "UP";
        row.node_names = std::move(names);
        row.oversubscribe = "NO";
        row.allow_groups = "ALL";
        return partitions.emplace_back(row);
    }
    [[nodiscard]] std::string print(Layout layout, const SinfoOptions& options = {}) const {
        const auto groups = group_nodes(nodes, partitions, layout, options, context());
        if (!groups) return groups.error().message();
        fit_columns(layout, *groups, context());
        std::string out;
        append_header(out, layout);
        for (const NodeGroup& group : *groups)
            append_group(out, layout, group, context());
        return out;
    }
};

TEST(Sinfo, DefaultFoldsEqualStates) {
    EXPECT_EQ(Nodes().print(sinfo_layout(kSinfoDefault)),
              "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
              "train        up 7-00:00:00      1  down* n5\n"
              "train        up 7-00:00:00      1  drain n3\n"
              "train        up 7-00:00:00      1    mix n2\n"
              "train        up 7-00:00:00      2   idle n[1,4]\n"
              "debug*       up   infinite      1   idle n1\n");
}

TEST(Sinfo, LongPartitionNamesWidenTheirColumn) {
    Nodes nodes;
    nodes.partitions[1].name = "interactive";
    nodes.partitions.erase(nodes.partitions.begin());
    EXPECT_EQ(nodes.print(sinfo_layout(kSinfoDefault)),
              "PARTITION    AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
              "interactive*    up   infinite      1   idle n1\n");
}

TEST(Sinfo, ByNode) {
    SinfoOptions options;
    options.by_node = true;
    EXPECT_EQ(Nodes().print(sinfo_layout(kSinfoNode), options),
              "NODELIST   NODES PARTITION STATE \n"
              "n1             1     train idle  \n"
              "n1             1    debug* idle  \n"
              "n2             1     train mix   \n"
              "n3             1     train drain \n"
              "n4             1     train idle  \n"
              "n5             1     train down* \n");
}

TEST(Sinfo, CountsAndLists) {
    const Nodes nodes;
    EXPECT_EQ(nodes.print(sinfo_layout("%F/%C")),
              "NODES(A/I/O/T)/CPUS(A/I/O/T)\n1/2/2/5/2/10/8/20\n");
    EXPECT_EQ(nodes.print(sinfo_layout("%R,%C")),
              "PARTITION,CPUS(A/I/O/T)\ntrain,2/10/8/20\ndebug,0/4/0/4\n");
    EXPECT_EQ(nodes.print(sinfo_layout("%N")), "NODELIST\nn[1-5]\n");
    EXPECT_EQ(nodes.print(sinfo_layout("%D,%T")),
              "NODES,STATE\n1,down*\n1,drained\n1,mixed\n2,idle\n");
    EXPECT_EQ(nodes.print(sinfo_layout("%n %G")),
              "HOSTNAMES GRES\nn5 (null)\nn3 (null)\nn2 (null)\nn1 (null)\nn4 (null)\n");
    SinfoOptions summary;
    summary.summary = true;
    EXPECT_EQ(nodes.print(sinfo_layout(kSinfoSummary), summary),
              "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n"
              "train        up 7-00:00:00          1/2/2/5 n[1-5]\n"
              "debug*       up   infinite          0/1/0/1 n1\n");
}

TEST(Sinfo, SizesThatDifferShareALineUnlessExact) {
    Nodes nodes;
    nodes.nodes[3].cpus = 8;
    nodes.partitions.pop_back();
    EXPECT_EQ(nodes.print(sinfo_layout("%P %c %m")), "PARTITION CPUS MEMORY\ntrain 4+ 1000\n");
    SinfoOptions exact;
    exact.exact = true;
    EXPECT_EQ(nodes.print(sinfo_layout("%c %N"), exact), "CPUS NODELIST\n4 n[1-3,5]\n8 n4\n");
}

TEST(Sinfo, EmptyPartitionsAndReasons) {
    Nodes nodes;
    nodes.partitions.pop_back();
    nodes.partition("empty", {});
    EXPECT_EQ(nodes.print(sinfo_layout("%R %D %t [%N]")),
              "PARTITION NODES STATE [NODELIST]\n"
              "train 1 down* [n5]\ntrain 1 drain [n3]\ntrain 1 mix [n2]\ntrain 2 idle [n[1,4]]\n"
              "empty 0 n/a []\n");
    EXPECT_EQ(nodes.print(sinfo_layout(kSinfoReason)),
              "REASON               USER      TIMESTAMP           NODELIST\n"
              "no agent             Unknown   Unknown             n5\n"
              "none                 Unknown   Unknown             n[1-4]\n");
}

// ---- sacct

api::AccountingRecord done_job() {
    api::AccountingRecord record;
    record.job = model::JobId{5};
    record.name = "a-long-job-name";
    record.queue = "physics";
    record.partition = "main";
    record.qos = "normal";
    record.uid = record.gid = 1000;
    record.state = model::WorkloadState::Done;
    record.outcome = {model::EndKind::Cancelled, 0, 15, 1000, ""};
    record.submitted = record.eligible = WallTime{Millis{kNowMs - 200'000}};
    record.started = WallTime{Millis{kNowMs - 100'000}};
    record.ended = WallTime{Millis{kNowMs - 39'000}};
    record.time_limit = Seconds{3600};
    record.nodes = 1;
    record.cpus = 2;
    record.node_list = "n1";
    record.req_tres = "cpu=2,mem=1000M,node=1,billing=2";
    record.alloc_tres = record.req_tres;
    return record;
}

api::AccountingRecord batch_step() {
    api::AccountingRecord step;
    step.job = model::JobId{5};
    step.step = api::kBatchStep;
    step.name = "batch";
    step.state = model::WorkloadState::Done;
    step.outcome = {model::EndKind::Cancelled, 0, 15, 1000, ""};
    step.started = WallTime{Millis{kNowMs - 100'000}};
    step.ended = WallTime{Millis{kNowMs - 39'000}};
    step.cpus = 2;
    step.tasks = 1;
    step.usage = {Millis{61'500}, Millis{2'000}, 3'072 * 1024};
    return step;
}

std::string sacct(std::string_view format, SacctStyle style, bool header = true) {
    Result<SacctLayout> layout = sacct_layout(format);
    if (!layout) return layout.error().message();
    layout->style = style;
    std::string out;
    if (header) append_sacct_header(out, *layout);
    const api::AccountingRecord job = done_job();
    append_sacct_row(out, *layout, job, nullptr, context());
    append_sacct_row(out, *layout, batch_step(), &job, context());
    return out;
}

TEST(Sacct, DefaultTable) {
    EXPECT_EQ(sacct(kSacctDefault, SacctStyle::Table),
              "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
              "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
              "5            a-long-jo+       main    physics          2 CANCELLED+     0:15 \n"
              "5.batch           batch               physics          2  CANCELLED     0:15 \n");
}

TEST(Sacct, ParsableAndWidths) {
    EXPECT_EQ(sacct("jobid,state", SacctStyle::Parsable),
              "JobID|State|\n5|CANCELLED by 1000|\n5.batch|CANCELLED|\n");
    EXPECT_EQ(sacct("JobIDRaw,State,ExitCode", SacctStyle::Parsable2, false),
              "5|CANCELLED by 1000|0:15\n5.batch|CANCELLED|0:15\n");
    EXPECT_EQ(sacct("jobname%-20,state%20", SacctStyle::Table, false),
              "a-long-job-name         CANCELLED by 1000 \n"
              "batch                           CANCELLED \n");
}

TEST(Sacct, Fields) {
    EXPECT_EQ(
        sacct("elapsed,elapsedraw,timelimit,timelimitraw,totalcpu,maxrss,reqmem,user,nodelist",
              SacctStyle::Parsable2,
              false),
        "00:01:01|61|01:00:00|60|00:00:00||1000M|ada|n1\n"
        "00:01:01|61|||01:03.500|3M|||n1\n");
    EXPECT_EQ(sacct("submit,start,end,reqcpus,allocnodes,ntasks", SacctStyle::Parsable2, false),
              "2026-12-01T09:56:40|2026-12-01T09:58:20|2026-12-01T09:59:21|2|1|\n"
              "2026-12-01T09:56:40|2026-12-01T09:58:20|2026-12-01T09:59:21|2|0|1\n");
    EXPECT_EQ(sacct("foo", SacctStyle::Table), "Invalid field requested: \"foo\"");
    EXPECT_EQ(sacct("allocgres", SacctStyle::Table),
              "AllocGRES is deprecated, please use AllocTRES");
}

TEST(Sacct, States) {
    api::AccountingRecord record = done_job();
    const std::vector<std::string> cancelled = {"CA"};
    const std::vector<std::string> failed = {"failed", "TO"};
    EXPECT_TRUE(sacct_has_state(record, cancelled));
    EXPECT_FALSE(sacct_has_state(record, failed));
    record.outcome.kind = model::EndKind::TimeLimit;
    EXPECT_EQ(sacct_state(record), "TIMEOUT");
    EXPECT_TRUE(sacct_has_state(record, failed));
    record.requeued = true;
    EXPECT_EQ(sacct_state(record), "REQUEUED");
    record.state = model::WorkloadState::Pending;
    EXPECT_EQ(sacct_state(record), "PENDING");
}

TEST(Sacct, HelpFormatHasFourColumns) {
    const std::string help = sacct_help_format();
    EXPECT_EQ(help.substr(0, help.find('\n')),
              "Account             AdminComment        AllocCPUS           AllocNodes         ");
}

// ---- scontrol

TEST(Scontrol, JobRecord) {
    std::string out;
    append_job_record(out, running(7), {}, context());
    EXPECT_EQ(out,
              "JobId=7 JobName=llama70b-long\n"
              "   UserId=ada(1000) GroupId=staff(1000) MCS_label=N/A\n"
              "   Priority=4294 Nice=0 Account=physics QOS=normal\n"
              "   JobState=RUNNING Reason=None Dependency=(null)\n"
              "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
              "   RunTime=00:01:05 TimeLimit=01:00:00 TimeMin=N/A\n"
              "   SubmitTime=2026-12-01T09:58:00 EligibleTime=2026-12-01T09:58:00\n"
              "   AccrueTime=2026-12-01T09:58:00\n"
              "   StartTime=2026-12-01T09:58:55 EndTime=2026-12-01T10:58:55 Deadline=N/A\n"
              "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main\n"
              "   Partition=train AllocNode:Sid=login:0\n"
              "   ReqNodeList=(null) ExcNodeList=(null)\n"
              "   NodeList=n[1-2]\n"
              "   BatchHost=n1\n"
              "   NumNodes=2 NumCPUs=4 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*\n"
              "   ReqTRES=cpu=2,mem=4G,node=2,billing=2\n"
              "   AllocTRES=cpu=4,mem=4G,node=2,billing=4\n"
              "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
              "   MinCPUsNode=1 MinMemoryNode=2G MinTmpDiskNode=0\n"
              "   Features=(null) DelayBoot=00:00:00\n"
              "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)\n"
              "   Command=/home/alice/train.sh\n"
              "   WorkDir=/home/alice\n"
              "   StdErr=/home/alice/slurm-7.out\n"
              "   StdIn=/dev/null\n"
              "   StdOut=/home/alice/slurm-7.out\n\n");
    std::string one_line;
    append_job_record(one_line, running(7), {true, false}, context());
    EXPECT_EQ(one_line.find('\n'), one_line.size() - 1);
    EXPECT_TRUE(one_line.starts_with("JobId=7 JobName=llama70b-long UserId=ada(1000) "));
}

TEST(Scontrol, ReasonsAreOneWord) {
    api::JobRow row = pending(7);
    row.reason = "ReqNodeNotAvail, UnavailableNodes:n1";
    std::string out;
    append_job_record(out, row, {}, context());
    EXPECT_NE(out.find("JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n1 Dependency="),
              std::string::npos);
    EXPECT_NE(out.find("\n   StartTime=Unknown EndTime=Unknown Deadline=N/A\n"), std::string::npos);
}

TEST(Scontrol, JobDetailNamesTheCpusOfEachNode) {
    api::JobRow row = running(7);
    row.grants = {{"n1", {0, 1}, {1}, 2048, "gpu:h100:1(IDX:1)"}};
    std::string out;
    append_job_record(out, row, {false, true}, context());
    EXPECT_NE(out.find("\n     Nodes=n1 CPU_IDs=0-1 Mem=2048 GRES=gpu:h100:1(IDX:1)\n"),
              std::string::npos);
}

TEST(Scontrol, NodeRecord) {
    api::NodeRow row;
    row.name = row.address = row.host_name = "n1";
    row.state = row.base_state = "IDLE";
    row.state += "+DRAIN";
    row.arch = "x86_64";
    row.version = "0.1";
    row.os = "Linux";
    row.cpus = 4;
    row.memory_mb = 1000;
    row.gres = "gpu:h100:2";
    row.partitions = "main";
    row.cfg_tres = "cpu=4,mem=1000M,billing=4,gres/gpu=2";
    row.reason = "sick";
    row.reason_ms = kNowMs;
    row.tracking = "cgroup v2: cpuset,memory";
    std::string out;
    append_node_record(out, row, {}, context());
    EXPECT_EQ(out,
              "NodeName=n1 Arch=x86_64 CoresPerSocket=1\n"
              "   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=N/A\n"
              "   AvailableFeatures=(null)\n"
              "   ActiveFeatures=(null)\n"
              "   Gres=gpu:h100:2\n"
              "   NodeAddr=n1 NodeHostName=n1 Version=0.1\n"
              "   OS=Linux\n"
              "   RealMemory=1000 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1\n"
              "   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
              "   Partitions=main\n"
              "   BootTime=None SlurmdStartTime=None\n"
              "   LastBusyTime=Unknown\n"
              "   CfgTRES=cpu=4,mem=1000M,billing=4,gres/gpu=2\n"
              "   AllocTRES=\n"
              "   Reason=sick [root@2026-12-01T10:00:00]\n"
              "   ProcessTracking=cgroup v2: cpuset,memory\n\n");
}

TEST(Scontrol, PartitionRecord) {
    Nodes nodes;
    api::PartitionRow row = nodes.partitions[0];
    row.nodes = "n[1-5]";
    row.total_nodes = 5;
    row.total_cpus = 20;
    row.allow_accounts = row.allow_qos = "ALL";
    row.tres = "cpu=20,node=5,billing=20";
    std::string out;
    append_partition_record(out, row, {}, context());
    EXPECT_EQ(out,
              "PartitionName=train\n"
              "   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
              "   AllocNodes=ALL Default=NO QoS=N/A\n"
              "   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO "
              "GraceTime=0 Hidden=NO\n"
              "   MaxNodes=UNLIMITED MaxTime=7-00:00:00 MinNodes=0 LLN=NO "
              "MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED\n"
              "   Nodes=n[1-5]\n"
              "   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO\n"
              "   OverTimeLimit=NONE PreemptMode=OFF\n"
              "   State=UP TotalCPUs=20 TotalNodes=5 SelectTypeParameters=NONE\n"
              "   JobDefaults=(null)\n"
              "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
              "   TRES=cpu=20,node=5,billing=20\n\n");
}

TEST(Units, MemoryKeepsWhatItSays) {
    const std::vector<std::tuple<std::int64_t, bool, const char*>> rows = {{1000, true, "1000M"},
                                                                           {1024, true, "1G"},
                                                                           {2048, false, "2048M"},
                                                                           {1024000, true, "1000G"},
                                                                           {1048576, true, "1T"},
                                                                           {0, true, "0M"}};
    for (const auto& [mega, convert, text] : rows)
        EXPECT_EQ(memory_text(mega, convert), text);
}

}  // namespace
}  // namespace twinyard::slurm
