#include "config/cluster_config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "config/check_config.h"
#include "config/render_config.h"
#include "config/testing.h"

namespace twinyard::config {
namespace {

using testing::kSeedConf;
using testing::read_text;
using testing::texts;

model::ClusterConfig configured(std::string_view text, const TwinyardYaml& yaml = {}) {
    const Reading reading = read_text(text);
    EXPECT_EQ(texts(reading.findings, Severity::Error), "");
    return cluster_config(reading.conf, yaml);
}

TwinyardYaml yaml_of(std::string_view text, std::string* findings = nullptr) {
    Findings found;
    TwinyardYaml yaml = read_twinyard_yaml(text, "twinyard.yaml", found);
    std::string errors = texts(found, Severity::Error);
    if (findings == nullptr) {
        EXPECT_EQ(errors, "");
    } else {
        *findings = errors;
    }
    return yaml;
}

TEST(ClusterConfig, OfTheSeed) {
    const model::ClusterConfig config = configured(kSeedConf);
    ASSERT_EQ(config.nodes.size(), 64U);
    EXPECT_FALSE(config.nodes_may_join);
    EXPECT_EQ(config.nodes[63].name, "node064");
    EXPECT_EQ(config.nodes[63].address, "10.0.0.64");
    EXPECT_EQ(config.nodes[0].memory_bytes, std::int64_t{1024000} << 20);
    EXPECT_EQ(config.nodes[0].cpus, std::nullopt);
    ASSERT_EQ(config.nodes[0].devices.size(), 8U);
    EXPECT_EQ(config.nodes[0].devices[7].class_path, "gpu/h100");
    const model::Partition* train = model::find_partition(config, "train");
    ASSERT_NE(train, nullptr);
    EXPECT_EQ(train->time_max, Millis{Seconds{7 * 86400}});
    EXPECT_EQ(train->tier, 10U);
    EXPECT_EQ(model::find_partition(config, "inference")->time_max, std::nullopt);
    for (const char* name : {"normal", "train", "debug", "inference"}) {
        EXPECT_NE(model::find_qos(config, name), nullptr) << name;
    }
    EXPECT_EQ(config.limits.jobs_max, 10'000U) << "with a slurm.conf, Slurm's default";
    EXPECT_TRUE(config.priority.backfill);
    EXPECT_FALSE(config.priority.fifo);
}

TEST(ClusterConfig, WithoutAFile) {
    const model::ClusterConfig config = cluster_config(TwinyardYaml{});
    EXPECT_TRUE(config.nodes_may_join);
    EXPECT_EQ(config.limits.jobs_max, 1'000'000U);
    const std::string shown = render_config(builtin_conf(), {});
    EXPECT_NE(shown.find("\nMaxJobCount             = 1000000\n"), std::string::npos);
    EXPECT_NE(shown.find("\nMaxArraySize            = 1000001\n"), std::string::npos);
    ASSERT_EQ(config.partitions.size(), 1U);
    EXPECT_TRUE(config.partitions[0].is_default);
    EXPECT_TRUE(config.partitions[0].all_nodes);
    EXPECT_NE(model::find_qos(config, "normal"), nullptr);
}

TEST(ClusterConfig, LimitsAndPriorities) {
    const model::ClusterConfig config = configured(
        "MaxJobCount=50\nMinJobAge=9\nSlurmdTimeout=0\nKillWait=5\nOverTimeLimit=2\n"
        "SchedulerType=sched/builtin\nPriorityType=priority/basic\nPriorityWeightAge=7\n"
        "DefMemPerCPU=100\nMaxMemPerNode=2000\nSelectTypeParameters=CR_Core\nDefCpuPerGPU=4\n"
        "SchedulerParameters=requeue_delay=120,bf_max_job_test=50\nEnforcePartLimits=ANY\n"
        "JobRequeue=0\nNodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 State=DRAIN "
        "Reason=fan\nNodeName=n2 CPUs=2\nNodeName=n3 State=FUTURE CPUs=1\n"
        "DownNodes=n2 State=DOWN Reason=broken\n"
        "PartitionName=p Nodes=n1 OverSubscribe=EXCLUSIVE MaxNodes=UNLIMITED MaxCPUsPerNode=3 "
        "AllowGroups=ALL DenyAccounts=x\n");
    EXPECT_EQ(config.limits.jobs_max, 50U);
    EXPECT_EQ(config.limits.min_job_age, Seconds{9});
    EXPECT_GT(config.limits.node_lost_after, Seconds{86400 * 365}) << "0 means never";
    EXPECT_EQ(config.limits.over_time_limit, Millis{120'000});
    EXPECT_EQ(config.limits.memory_default.per_cpu, std::int64_t{100} << 20);
    EXPECT_EQ(config.limits.memory_max.per_node, std::int64_t{2000} << 20);
    EXPECT_FALSE(config.limits.memory_is_consumable);
    EXPECT_EQ(config.limits.requeue_delay, Seconds{120});
    EXPECT_TRUE(config.limits.enforce_partition_limits);
    EXPECT_FALSE(config.limits.requeue_default);
    EXPECT_TRUE(config.priority.fifo);
    EXPECT_FALSE(config.priority.backfill);
    EXPECT_EQ(config.priority.weight_age, 7U);
    EXPECT_EQ(config.priority.backfill_tests, 50U);
    ASSERT_EQ(config.nodes.size(), 2U) << "a future node is not there";
    EXPECT_EQ(config.nodes[0].cpus, 16U);
    EXPECT_TRUE(config.nodes[0].drain);
    EXPECT_EQ(config.nodes[0].reason, "fan");
    EXPECT_TRUE(config.nodes[1].down);
    EXPECT_EQ(config.nodes[1].reason, "broken");
    const model::Partition& p = config.partitions[0];
    EXPECT_TRUE(p.exclusive_node);
    EXPECT_EQ(p.nodes_max, std::nullopt);
    EXPECT_EQ(p.cpus_per_node_max, 3U);
    EXPECT_EQ(p.cpus_per_gpu_default, 4U);
    EXPECT_TRUE(p.allow_groups.empty());
    EXPECT_EQ(p.deny_accounts, std::vector<std::string>{"x"});
}

TEST(ClusterConfig, YamlAddsQosAndPreset) {
    const TwinyardYaml yaml = yaml_of(
        "policy: throughput\nqos:\n- name: train\n  priority: 7\n"
        "- {name: gold, priority: 100, preempt: [train]}\n");
    const model::ClusterConfig config = configured(kSeedConf, yaml);
    EXPECT_EQ(model::find_qos(config, "gold")->priority, 100U);
    EXPECT_EQ(model::find_qos(config, "train")->priority, 7U);
    EXPECT_TRUE(config.priority.favor_small);
    EXPECT_GT(config.priority.weight_job_size, config.priority.weight_age);
    const model::ClusterConfig own = configured("PriorityWeightAge=3\n", yaml);
    EXPECT_EQ(own.priority.weight_age, 3U) << "the site's own weights win";
    EXPECT_FALSE(own.priority.favor_small);
}

TEST(TwinyardYaml, Errors) {
    const struct {
        const char* text;
        const char* want;
    } cases[] = {
        {"", ""},
        {"# nothing\n", ""},
        {"polcy: research", "twinyard.yaml:1: unknown key 'polcy' (did you mean policy?)\n"},
        {"\npolicy: reserch",
         "twinyard.yaml:2: policy: 'reserch' is none of research, enterprise, throughput (did you "
         "mean research?)\n"},
        {"qos: 5", "twinyard.yaml:1: qos: a list is expected\n"},
        {"qos:\n- name: a\n  prority: 3",
         "twinyard.yaml:3: unknown key 'prority' (did you mean priority?)\n"},
        {"qos:\n- name: a\n  priority: -3",
         "twinyard.yaml:3: priority: '-3' is not a whole number\n"},
        {"qos:\n- priority: 3", "twinyard.yaml:2: a QOS needs a name\n"},
        {"qos:\n- name: a\n- name: a", "twinyard.yaml:3: QOS a is there twice\n"},
        {"sharedNodeMemory: proportional",
         "twinyard.yaml:1: sharedNodeMemory: proportional is not built yet\n"},
        {"- a", "twinyard.yaml: keys with values are expected\n"},
    };
    for (const auto& c : cases) {
        std::string errors;
        yaml_of(c.text, &errors);
        EXPECT_EQ(errors, c.want) << c.text;
    }
    std::string errors;
    yaml_of("a: [", &errors);
    EXPECT_NE(errors, "");
    yaml_of(std::string(100'000, '['), &errors);
    EXPECT_NE(errors, "") << "deep nesting must not exhaust the stack";
}

TEST(TwinyardYaml, NoMutationBreaksTheReader) {
    const std::string seed =
        "policy: research\nqos:\n- name: a\n  priority: 5\n  preempt: [b, c]\n- {name: b}\n";
    constexpr std::string_view kBytes = ":-[]{}\n &*!|>'\"%@`,?#a1\x00\xff";
    for (unsigned round = 0; round < 2000; ++round) {
        std::mt19937 random(round);
        std::string text = seed;
        for (std::size_t i = 0; i < 1 + random() % 8; ++i) {
            text[random() % text.size()] = kBytes[random() % kBytes.size()];
        }
        Findings findings;
        static_cast<void>(read_twinyard_yaml(text, "twinyard.yaml", findings));
        for (const Finding& finding : findings.all()) {
            ASSERT_EQ(finding.text.find('\n'), std::string::npos) << "seed " << round;
        }
    }
}

TEST(RenderConfig, AlignsAsSlurmDoes) {
    const Reading reading = read_text(
        "ClusterName=yard\nSlurmctldHost=ctl(10.0.0.1)\n"
        "AuthInfo=socket=/run/x\nDefMemPerGPU=100\nKillWait=20\n"
        "AccountingStorageTRES=gres/gpu:h100\n");
    const std::string text = render_config(reading.conf,
                                           {.host_name = "here",
                                            .boot_time = "2026-01-02T03:04:05",
                                            .slurm_conf = "/etc/slurm/slurm.conf",
                                            .next_job_id = 42});
    for (const char* line : {"AccountingStorageBackupHost = (null)\n",
                             "AccountingStorageEnforce = none\n",
                             "AccountingStorageType   = accounting_storage/slurmdbd\n",
                             "AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,"
                             "pages,gres/gpu,gres/gpu:h100\n",
                             "AuthInfo                = socket=/run/x\n",
                             "BOOT_TIME               = 2026-01-02T03:04:05\n",
                             "ClusterName             = yard\n",
                             "JobDefaults             = DefMemPerGPU=100\n",
                             "KillWait                = 20 sec\n",
                             "MaxJobCount             = 10000\n",
                             "MinJobAge               = 300 sec\n",
                             "NEXT_JOB_ID             = 42\n",
                             "PriorityMaxAge          = 7-00:00:00\n",
                             "SelectTypeParameters    = CR_CORE_MEMORY\n",
                             "SlurmctldHost[0]        = ctl(10.0.0.1)\n",
                             "SLURM_VERSION           = 26.05.0\n"}) {
        EXPECT_NE(("\n" + text).find(std::string("\n") + line), std::string::npos) << line;
    }
    EXPECT_EQ(text.find("RoutePlugin"), std::string::npos) << "gone from current Slurm";
    EXPECT_LT(text.find("\nBcastParameters"), text.find("\nBOOT_TIME"));
}

class Folder {
  public:
    Folder() {
        std::string pattern = ::testing::TempDir() + "/config_test_XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    ~Folder() {
        for (const std::string& file : files_)
            std::remove(file.c_str());
        std::remove(path_.c_str());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string write(const std::string& name, std::string_view text) {
        files_.push_back(path_ + "/" + name);
        std::ofstream(files_.back()) << text;
        return files_.back();
    }

  private:
    std::string path_;
    std::vector<std::string> files_;
};

TEST(CheckConfig, ReadsTheFilesBesideIt) {
    Folder folder;
    const std::string conf = folder.write("slurm.conf", kSeedConf);
    folder.write("gres.conf", "Name=gpu Type=h100 File=/dev/nvidia[0-7]\n");
    folder.write("twinyard.yaml", "polcy: research\n");
    const Report report = check(conf);
    EXPECT_FALSE(report.usable);
    EXPECT_EQ(report.nodes, 64U);
    const std::string text = render(report);
    EXPECT_EQ(text.find("Errors:\n"), 0U) << text;
    EXPECT_NE(text.find("twinyard.yaml:1: unknown key 'polcy' (did you mean policy?)\n"),
              std::string::npos);
    EXPECT_NE(text.find("64 nodes, 3 partitions, 0 parameters honoured; cannot be used\n"),
              std::string::npos);
    const auto loaded = load(conf);
    ASSERT_TRUE(loaded) << "the yaml is not part of slurm.conf";
    EXPECT_EQ(cluster_config(*loaded, {}).nodes[9].devices[3].path, "/dev/nvidia3");
}

TEST(CheckConfig, AMissingFileIsAnError) {
    const Report report = check("/nonexistent/slurm.conf");
    EXPECT_FALSE(report.usable);
    EXPECT_NE(render(report).find("cannot be read: No such file or directory"), std::string::npos);
    EXPECT_FALSE(load("/nonexistent/slurm.conf"));
}

}  // namespace
}  // namespace twinyard::config
