#include "config/slurm_conf.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "config/testing.h"

namespace twinyard::config {
namespace {

using testing::kSeedConf;
using testing::loader_of;
using testing::read_text;
using testing::texts;

TEST(SlurmConf, SeedLinesRunAsPrinted) {
    const Reading reading = read_text(kSeedConf);
    EXPECT_EQ(texts(reading.findings, Severity::Error), "");
    EXPECT_EQ(texts(reading.findings, Severity::Refused), "");
    EXPECT_EQ(texts(reading.findings, Severity::NoEffect), "");
    ASSERT_EQ(reading.conf.nodes.size(), 1U);
    const NodeLine& nodes = reading.conf.nodes[0];
    EXPECT_EQ(nodes.names.size(), 64U);
    EXPECT_EQ(nodes.names.front(), "node001");
    EXPECT_EQ(nodes.names.back(), "node064");
    EXPECT_EQ(nodes.addresses.back(), "10.0.0.64");
    EXPECT_EQ(nodes.real_memory_mb, 1024000);
    EXPECT_EQ(nodes.gres, (std::vector<GresItem>{{"gpu", "h100", 8}}));
    EXPECT_EQ(nodes.cpus, std::nullopt);
    ASSERT_EQ(reading.conf.partitions.size(), 3U);
    const PartitionLine& train = reading.conf.partitions[0];
    const PartitionLine& debug = reading.conf.partitions[1];
    const PartitionLine& inference = reading.conf.partitions[2];
    EXPECT_EQ(train.max_time, Seconds{7 * 86400});
    EXPECT_EQ(train.priority_tier, 10U);
    EXPECT_EQ(train.priority_job_factor, 10U);
    EXPECT_FALSE(train.is_default);
    EXPECT_TRUE(debug.is_default);
    EXPECT_EQ(debug.nodes.size(), 8U);
    EXPECT_EQ(debug.max_time, Seconds{3600});
    EXPECT_EQ(debug.qos, "debug");
    EXPECT_EQ(inference.max_time, kUnlimited);
    EXPECT_EQ(inference.priority_tier, 5U);
    EXPECT_EQ(reading.conf.parameters.cluster_name, "twinyard");
}

TEST(SlurmConf, SeedDeviationsAreSaid) {
    const Reading reading = read_text(kSeedConf);
    EXPECT_EQ(
        texts(reading.findings, Severity::Deviation),
        "slurm.conf: ClusterName is missing: the cluster is called 'twinyard' (Slurm would "
        "not start)\n"
        "slurm.conf: SlurmctldHost is missing: it is this host (Slurm would not start)\n"
        "slurm.conf:1: GresTypes=gpu is taken from Gres (Slurm would refuse requests for "
        "it)\n"
        "slurm.conf:1: nodes node[001-064] have the CPUs that their agents find (in Slurm: 1 "
        "CPU each)\n"
        "slurm.conf:2: QOS train exists because this partition names it (Slurm would look in "
        "its database)\n"
        "slurm.conf:3: QOS debug exists because this partition names it (Slurm would look in "
        "its database)\n"
        "slurm.conf:4: QOS inference exists because this partition names it (Slurm would look "
        "in its database)\n");
    EXPECT_EQ(reading.conf.parameters.gres_types, std::vector<std::string>{"gpu"});
}

TEST(SlurmConf, LinesCommentsAndQuotes) {
    const Reading reading = read_text(
        "# a comment\r\n"
        "clustername=Yard  KillWait = 45 # two on a line\n"
        "NodeName=n[1-2] \\\n"
        "   CPUs=4 \\\n"
        "   Reason=\"out of order\" State=DRAIN\n"
        "\n"
        "SlurmctldHost=ctl(10.0.0.1)\n"
        "SlurmctldHost=backup\n"
        "NodeName=n3 CPUs=2 Reason=ticket\\#7");
    EXPECT_EQ(texts(reading.findings, Severity::Error), "");
    const Parameters& p = reading.conf.parameters;
    EXPECT_EQ(p.cluster_name, "yard");
    EXPECT_EQ(p.kill_wait, Seconds{45});
    EXPECT_EQ(p.controllers, (std::vector<ControllerHost>{{"ctl", "10.0.0.1"}, {"backup", ""}}));
    ASSERT_EQ(reading.conf.nodes.size(), 2U);
    EXPECT_EQ(reading.conf.nodes[0].cpus, 4U);
    EXPECT_EQ(reading.conf.nodes[0].reason, "out of order");
    EXPECT_EQ(reading.conf.nodes[0].state, NodeState::Drain);
    EXPECT_EQ(reading.conf.nodes[0].line, 3U);
    EXPECT_EQ(reading.conf.nodes[1].reason, "ticket#7");
}

TEST(SlurmConf, DefaultLinesApplyToWhatFollows) {
    const Reading reading = read_text(
        "NodeName=DEFAULT CPUs=8 RealMemory=1000\n"
        "NodeName=a\n"
        "NodeName=DEFAULT RealMemory=2000\n"
        "NodeName=b CPUs=4\n"
        "PartitionName=DEFAULT MaxTime=60 State=DOWN Nodes=a,b\n"
        "PartitionName=p\n"
        "PartitionName=q State=UP MaxTime=INFINITE Nodes=a\n");
    EXPECT_EQ(texts(reading.findings, Severity::Error), "");
    ASSERT_EQ(reading.conf.nodes.size(), 2U);
    EXPECT_EQ(reading.conf.nodes[0].cpus, 8U);
    EXPECT_EQ(reading.conf.nodes[0].real_memory_mb, 1000);
    EXPECT_EQ(reading.conf.nodes[1].cpus, 4U);
    EXPECT_EQ(reading.conf.nodes[1].real_memory_mb, 2000);
    EXPECT_EQ(reading.conf.partitions[0].state, model::PartitionState::Down);
    EXPECT_EQ(reading.conf.partitions[0].max_time, Seconds{3600});
    EXPECT_EQ(reading.conf.partitions[0].nodes, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(reading.conf.partitions[1].max_time, kUnlimited);
    EXPECT_EQ(reading.conf.partitions[1].nodes, std::vector<std::string>{"a"});
}

TEST(SlurmConf, PartitionsNameNodesInManyWays) {
    const Reading reading = read_text(
        "NodeName=a[1-4] CPUs=1 Feature=fast,new\n"
        "NodeName=b[1-2] CPUs=1\n"
        "NodeSet=quick Feature=fast\n"
        "NodeSet=few Nodes=b2\n"
        "PartitionName=all Nodes=ALL\n"
        "PartitionName=mixed Nodes=few,quick,b[1-2],a1\n");
    EXPECT_EQ(texts(reading.findings, Severity::Error), "");
    EXPECT_TRUE(reading.conf.partitions[0].all_nodes);
    EXPECT_EQ(reading.conf.partitions[1].nodes,
              (std::vector<std::string>{"b2", "a1", "a2", "a3", "a4", "b1"}));
}

TEST(SlurmConf, Includes) {
    const auto loader = loader_of({{"/etc/slurm/nodes.conf", "NodeName=n1 CPUs=2\nNodeNam=n2\n"},
                                   {"/else/p.conf", "ClusterName=Yard\nInclude more_%c.conf\n"},
                                   {"/etc/slurm/more_yard.conf", "PartitionName=p Nodes=n1\n"},
                                   {"/etc/slurm/loop.conf", "Include loop.conf\n"}});
    const Reading reading = read(
        "include nodes.conf\nInclude /else/p.conf\nInclude none.conf\n"
        "Include loop.conf\n",
        "/etc/slurm/slurm.conf",
        loader);
    EXPECT_EQ(reading.conf.nodes.size(), 1U);
    EXPECT_EQ(reading.conf.partitions.size(), 1U);
    EXPECT_EQ(texts(reading.findings, Severity::Error),
              "/etc/slurm/slurm.conf:3: Include none.conf: no such file\n"
              "/etc/slurm/loop.conf:1: Include loop.conf: the file includes itself\n"
              "/etc/slurm/nodes.conf:2: unknown parameter 'NodeNam'\n");
}

TEST(SlurmConf, IncludesHaveADepth) {
    const FileLoader endless = [](const std::string& path) -> Result<std::string> {
        return "Include x" + path + "\n";
    };
    const Reading reading = read("Include a\n", "slurm.conf", endless);
    EXPECT_NE(texts(reading.findings, Severity::Error).find("more than 10 files deep"),
              std::string::npos);
}

TEST(SlurmConf, EachErrorHasItsLineAndAHint) {
    const struct {
        const char* text;
        const char* want;
    } cases[] = {
        {"MaxJobCout=5",
         "slurm.conf:1: unknown parameter 'MaxJobCout' (did you mean MaxJobCount?)\n"},
        {"\n\nElephant=5", "slurm.conf:3: unknown parameter 'Elephant'\n"},
        {"MaxJobCount=many", "slurm.conf:1: MaxJobCount: 'many' is not a whole number\n"},
        {"KillWait=99999", "slurm.conf:1: KillWait: 99999 is not between 0 and 65533\n"},
        {"JobRequeue=perhaps", "slurm.conf:1: JobRequeue: 'perhaps' is neither YES nor NO\n"},
        {"SchedulerType=sched/bakfill",
         "slurm.conf:1: SchedulerType: 'sched/bakfill' is none of sched/backfill, sched/builtin "
         "(did "
         "you mean sched/backfill?)\n"},
        {"ClusterName=a/b",
         "slurm.conf:1: ClusterName: 'a/b' is no cluster name: 1 to 40 letters, digits, '_', '-', "
         "'.'\n"},
        {"what is this", "slurm.conf:1: 'what is this': '=' is expected after the keyword\n"},
        {"KillWait=", "slurm.conf:1: 'KillWait=': a value is missing after '='\n"},
        {"MailDomain=\"x", "slurm.conf:1: 'MailDomain=\"x': the closing '\"' is missing\n"},
        {"CPUs=4", "slurm.conf:1: CPUs: this keyword belongs on a NodeName line\n"},
        {"MaxTime=4", "slurm.conf:1: MaxTime: this keyword belongs on a PartitionName line\n"},
        {"NodeName=n[1-", "slurm.conf:1: host list 'n[1-': '[' without ']'\n"},
        {"NodeName=n[1-1000000000]",
         "slurm.conf:1: host list 'n[1-1000000000]': more than 65536 hosts\n"},
        {"NodeName=n1 CPU=4", "slurm.conf:1: unknown node keyword 'CPU' (did you mean CPUs?)\n"},
        {"NodeName=n1 Gres=gpu:x:y",
         "slurm.conf:1: Gres: 'gpu:x:y': the count at its end is not a number\n"},
        {"NodeName=n1 State=DRIAN",
         "slurm.conf:1: State: unknown node state 'DRIAN' (did you mean DRAIN?)\n"},
        {"NodeName=n1 CPUs=5 Sockets=2 CoresPerSocket=2",
         "slurm.conf:1: CPUs=5 is neither the 4 threads nor the 4 cores that Sockets, "
         "CoresPerSocket and ThreadsPerCore make\n"},
        {"NodeName=n[1-2] NodeAddr=h[1-3]",
         "slurm.conf:1: NodeAddr stands for 3 nodes, NodeName for 2\n"},
        {"NodeName=n[1-3]\nNodeName=n2", "slurm.conf:2: node n2 was defined before, at line 1\n"},
        {"NodeName=node1\nPartitionName=p Nodes=nod1",
         "slurm.conf:2: partition p: no NodeName line has 'nod1' (did you mean node1?)\n"},
        {"PartitionName=p MaxTme=4",
         "slurm.conf:1: unknown partition keyword 'MaxTme' (did you mean MaxTime?)\n"},
        {"PartitionName=p MaxTime=1:2:3:4",
         "slurm.conf:1: MaxTime: '1:2:3:4' is not a time limit\n"},
        {"PartitionName=p MaxTime=10 DefaultTime=20",
         "slurm.conf:1: partition p: DefaultTime is above MaxTime\n"},
        {"PartitionName=p MinNodes=3 MaxNodes=2",
         "slurm.conf:1: partition p: MinNodes is above MaxNodes\n"},
        {"PartitionName=p DefMemPerCPU=3 DefMemPerNode=2",
         "slurm.conf:1: DefMemPerCPU, DefMemPerGPU and DefMemPerNode exclude each other\n"},
        {"PartitionName=p\nPartitionName=p",
         "slurm.conf:2: partition p was defined before, at line 1\n"},
        {"DownNodes=x State=DOWN", "slurm.conf:1: DownNodes: no NodeName line has 'x'\n"},
        {"SchedulerParameters=requeue_delay=x",
         "slurm.conf:1: SchedulerParameters: requeue_delay: 'x' is not a whole number\n"},
        {"MailDomain=a\x1b[31m KillWait=x", "slurm.conf:1: KillWait: 'x' is not a whole number\n"},
        {"NodeName=n1 Reason=a\x1b", "slurm.conf:1: Reason: 'a\\x1b' has a control character\n"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(texts(read_text(c.text).findings, Severity::Error), c.want) << c.text;
    }
}

TEST(SlurmConf, AllErrorsAreCollected) {
    const auto parsed = parse("A=1\nB=2\nKillWait=x\n", "s", loader_of({}));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message(), "s:1: unknown parameter 'A' (and 2 more)");
    std::string many;
    for (int i = 0; i < 5000; ++i)
        many += "Zebra=1\n";
    const Reading reading = read_text(many);
    EXPECT_EQ(reading.findings.all().size(), kFindingsMax + 1);
    EXPECT_FALSE(reading.findings.usable());
}

TEST(SlurmConf, RefusedOnlyWhereItAsksForSomething) {
    EXPECT_EQ(texts(read_text("PrivateData=jobs").findings, Severity::Refused),
              "slurm.conf:1: PrivateData=jobs: every user sees all jobs and nodes: what should be "
              "private would be shown\n");
    for (const char* text : {"PrivateData=none",
                             "MCSPlugin=mcs/none",
                             "DisableRootJobs=NO",
                             "SelectType=select/cons_tres",
                             "PartitionName=p ExclusiveUser=NO",
                             "PartitionName=p OverSubscribe=EXCLUSIVE Exclusive=NODE"}) {
        const Findings findings = read_text(text).findings;
        EXPECT_EQ(texts(findings, Severity::Refused) + texts(findings, Severity::NoEffect), "")
            << text;
    }
    EXPECT_FALSE(parse("SelectType=select/linear", "s", loader_of({})));
    EXPECT_FALSE(parse("PartitionName=p AllowGroups=staff", "s", loader_of({})));
    EXPECT_TRUE(parse("PartitionName=p AllowGroups=ALL", "s", loader_of({})));
    EXPECT_FALSE(parse("PartitionName=p Exclusive=USER", "s", loader_of({})));
}

TEST(SlurmConf, WithoutEffectIsSaid) {
    EXPECT_EQ(
        texts(read_text("Prolog=/x\nSchedulerParameters=defer,bf_windw=3,requeue_delay=9").findings,
              Severity::NoEffect),
        "slurm.conf:1: Prolog=/x: programs around jobs and steps are not run yet\n"
        "slurm.conf:2: SchedulerParameters: defer: the engine has no such setting\n"
        "slurm.conf:2: SchedulerParameters: bf_windw: unknown option (did you mean "
        "bf_window?)\n");
}

TEST(SlurmConf, SizesHaveLimits) {
    const std::string long_line(kLineBytesMax + 1, 'x');
    EXPECT_EQ(texts(read_text("a=" + long_line).findings, Severity::Error),
              "slurm.conf:1: the line is longer than 1 MB\n");
    const std::string big(kFileBytesMax + 1, '\n');
    EXPECT_EQ(texts(read_text(big).findings, Severity::Error),
              "slurm.conf: the file is larger than 16 MB\n");
}

TEST(SlurmConf, ManyNodesAndManyErrorsStayCheap) {
    std::string text;
    for (int i = 0; i < 5000; ++i)
        text += "NodeName=n" + std::to_string(i) + "x[1-60000]\n";
    const Reading reading = read_text(text);
    EXPECT_FALSE(reading.findings.usable());
    EXPECT_EQ(reading.conf.node_count(), 60'000U);
    EXPECT_NE(
        texts(reading.findings, Severity::Error).find("slurm.conf:2: more than 65536 nodes\n"),
        std::string::npos);
}

template <class Target>
void expect_sound(std::span<const Entry<Target>> table) {
    std::set<std::string> seen;
    for (const Entry<Target>& row : table) {
        EXPECT_TRUE(seen.insert(to_lower(row.key)).second) << row.key << " is there twice";
        EXPECT_EQ(row.effect == Effect::Honoured, row.why.empty()) << row.key;
    }
}

TEST(Tables, EachKeyOnceAndEachReasonGiven) {
    expect_sound(parameter_table());
    expect_sound(node_table());
    expect_sound(partition_table());
    expect_sound(gres_table());
    expect_sound(cgroup_table());
    expect_sound(topology_table());
    for (const auto& row : parameter_table()) {
        EXPECT_TRUE(row.effect != Effect::Honoured || row.set != nullptr) << row.key;
    }
}

TEST(Gres, Forms) {
    using Items = std::vector<GresItem>;
    EXPECT_EQ(parse_gres("gpu"), (Items{{"gpu", "", 1}}));
    EXPECT_EQ(parse_gres("gpu:4"), (Items{{"gpu", "", 4}}));
    EXPECT_EQ(parse_gres("gpu:h100"), (Items{{"gpu", "h100", 1}}));
    EXPECT_EQ(parse_gres("gpu:a100:2,gpu:h100:6"), (Items{{"gpu", "a100", 2}, {"gpu", "h100", 6}}));
    EXPECT_EQ(parse_gres("bw:lustre:no_consume:4G"),
              (Items{{"bw", "lustre", std::int64_t{4} << 30}}));
    EXPECT_EQ(parse_gres("gpu:3g.20gb:2"), (Items{{"gpu", "3g.20gb", 2}}));
    EXPECT_EQ(parse_gres("(null)"), Items{});
    for (const char* text : {":", "gpu:", "gpu::4", "gpu:a:b:c", "gpu:-1", "a b:1", "gpu:a:1x"}) {
        EXPECT_FALSE(parse_gres(text)) << text;
    }
}

TEST(GresConf, FilesOfANode) {
    Findings findings;
    const GresConf conf = read_gres_conf(
        "AutoDetect=off\n"
        "Name=gpu Type=h100 File=/dev/nvidia[0-3]\n"
        "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia4 Count=1\n"
        "Name=gpu File=/dev/x[0-1] Count=3\n",
        "gres.conf",
        loader_of({}),
        findings);
    EXPECT_EQ(texts(findings, Severity::Error), "gres.conf:4: Count=3, but File names 2 devices\n");
    EXPECT_EQ(conf.files_of("n9", "gpu", "h100").size(), 4U);
    EXPECT_EQ(conf.files_of("n1", "gpu", "a100"), std::vector<std::string>{"/dev/nvidia4"});
    EXPECT_TRUE(conf.files_of("n9", "gpu", "a100").empty());
}

TEST(SideFiles, CgroupAndTopology) {
    Findings findings;
    const CgroupConf cgroup =
        read_cgroup_conf("ConstrainDevices=yes\nConstrainRAMSpace=yes\nXyz=1\n",
                         "cgroup.conf",
                         loader_of({}),
                         findings);
    EXPECT_TRUE(cgroup.constrain_devices);
    EXPECT_TRUE(cgroup.constrain_ram);
    const TopologyConf topology =
        read_topology_conf("SwitchName=s0 Nodes=n[1-4]\nSwitchName=top Switches=s[0-1]\n",
                           "topology.conf",
                           loader_of({}),
                           findings);
    ASSERT_EQ(topology.switches.size(), 2U);
    EXPECT_EQ(topology.switches[0].nodes.size(), 4U);
    EXPECT_EQ(topology.switches[1].switches, (std::vector<std::string>{"s0", "s1"}));
    EXPECT_EQ(texts(findings, Severity::Error),
              "cgroup.conf:3: unknown cgroup.conf keyword 'Xyz'\n");
}

/// Valid text with bytes replaced, doubled and cut out is read to the end, whatever it says.
TEST(SlurmConf, NoMutationBreaksTheReader) {
    const std::string seed =
        std::string(kSeedConf) +
        "Include other.conf\nSlurmctldHost=a(b)\nNodeSet=x Feature=y Nodes=z[1-2]\n"
        "SchedulerParameters=defer,requeue_delay=3\nDownNodes=node001 \\\n"
        "  Reason=\"broken fan\" # why\nPriorityMaxAge=1-0\nDefMemPerCPU=10\n";
    const auto loader = loader_of({{"other.conf", seed}});
    constexpr std::string_view kBytes = "=[]-,\\\"#\n 09aZ\x00\xff:()";
    for (unsigned round = 0; round < 500; ++round) {
        std::mt19937 random(round);
        std::string text = seed;
        for (std::size_t i = 0; i < 1 + random() % 12; ++i) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = kBytes[random() % kBytes.size()];
                    break;
                case 1:
                    text.insert(at, 1, kBytes[random() % kBytes.size()]);
                    break;
                case 2:
                    text.erase(at, random() % 20);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 40));
                    break;
            }
            if (text.empty()) text = "x";
        }
        const Reading reading = read(text, "slurm.conf", loader);
        for (const Finding& finding : reading.findings.all()) {
            ASSERT_EQ(finding.text.find('\n'), std::string::npos) << "seed " << round;
        }
    }
}

}  // namespace
}  // namespace twinyard::config
