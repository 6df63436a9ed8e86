#include <gtest/gtest.h>

#include <csignal>

#include "cli/job_testing.h"

namespace twinyard::cli {
namespace {

using job_testing::FakeCluster;
using job_testing::Ran;
using job_testing::test_environment;

constexpr std::string_view kConnectFailure = "Unable to contact slurm controller (connect failure)";

Ran sbatch(std::string_view line,
           FakeCluster& cluster,
           Environment environment = test_environment()) {
    return job_testing::run(run_sbatch, line, environment, cluster);
}

/// An environment in which `path` holds `text`.
Environment with_file(const std::string& path, const std::string& text) {
    Environment environment = test_environment();
    environment.read_file = [=](const std::string& asked, std::size_t) -> Result<std::string> {
        if (asked == path) return text;
        return fail(ErrorCode::NotFound, asked);
    };
    return environment;
}

/// What a row of options makes of the request.
api::JobRequest request_of(const std::string& options,
                           Environment environment = test_environment()) {
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch " + options + " --wrap=true", cluster, std::move(environment));
    EXPECT_EQ(ran.exit, kOk) << options << ": " << ran.err;
    return cluster.submitted.empty() ? api::JobRequest{} : cluster.submitted.front();
}

TEST(Sbatch, OptionsReachTheRequest) {
    using R = api::JobRequest;
    const struct {
        const char* options;
        bool (*want)(const R&);
    } cases[] = {
        {"-A phys", [](const R& r) { return r.account == "phys"; }},
        {"--account=phys", [](const R& r) { return r.account == "phys"; }},
        {"-b 2026-01-02T00:00:00", [](const R& r) { return r.begin_unix_s == 1'767'312'000; }},
        {"--comment='a b'", [](const R& r) { return r.comment == "a b"; }},
        {"-C fast", [](const R& r) { return r.constraint == "fast"; }},
        {"--cpus-per-gpu=3", [](const R& r) { return r.cpus_per_gpu == 3U; }},
        {"-c 4", [](const R& r) { return r.cpus_per_task == 4U; }},
        {"-e err.%j", [](const R& r) { return r.std_err == "err.%j"; }},
        {"-x n[1-2]", [](const R& r) { return r.exclude == "n[1-2]"; }},
        {"--exclusive", [](const R& r) { return r.exclusive == ""; }},
        {"--exclusive=user", [](const R& r) { return r.exclusive == "user"; }},
        {"-G h100:4", [](const R& r) { return r.gpus == "h100:4"; }},
        {"--gpus-per-node=2", [](const R& r) { return r.gpus_per_node == "2"; }},
        {"--gpus-per-task=1", [](const R& r) { return r.gpus_per_task == "1"; }},
        {"--gres=gpu:h100:8", [](const R& r) { return r.gres == "gpu:h100:8"; }},
        {"-H", [](const R& r) { return r.hold; }},
        {"-i in.txt", [](const R& r) { return r.std_in == "in.txt"; }},
        {"-J name", [](const R& r) { return r.name == "name"; }},
        {"--mem=64G", [](const R& r) { return r.mem_per_node_mb == 65536; }},
        {"--mem=0", [](const R& r) { return r.mem_per_node_mb == 0; }},
        {"--mem=1500K", [](const R& r) { return r.mem_per_node_mb == 2; }},
        {"--mem-per-cpu=500", [](const R& r) { return r.mem_per_cpu_mb == 500; }},
        {"--mem-per-gpu=4GB", [](const R& r) { return r.mem_per_gpu_mb == 4096; }},
        {"--nice", [](const R& r) { return r.nice == 100; }},
        {"--nice=-5", [](const R& r) { return r.nice == -5; }},
        {"--no-requeue", [](const R& r) { return r.requeue == false; }},
        {"-w n1,n2", [](const R& r) { return r.nodelist == "n1,n2"; }},
        {"-N 2", [](const R& r) { return r.nodes_min == 2U && r.nodes_max == 2U; }},
        {"-N2-4", [](const R& r) { return r.nodes_min == 2U && r.nodes_max == 4U; }},
        {"-N 1k", [](const R& r) { return r.nodes_min == 1024U; }},
        {"-n 6", [](const R& r) { return r.ntasks == 6U; }},
        {"--ntasks-per-gpu=1", [](const R& r) { return r.ntasks_per_gpu == 1U; }},
        {"--ntasks-per-node=3", [](const R& r) { return r.ntasks_per_node == 3U; }},
        {"--tasks-per-node=3", [](const R& r) { return r.ntasks_per_node == 3U; }},
        {"--open-mode=append", [](const R& r) { return r.append_output == true; }},
        {"--open-mode=t", [](const R& r) { return r.append_output == false; }},
        {"-o out.%j", [](const R& r) { return r.std_out == "out.%j"; }},
        {"-p a,b", [](const R& r) { return r.partition == "a,b"; }},
        {"--priority=9", [](const R& r) { return r.priority == 9U; }},
        {"-q high", [](const R& r) { return r.qos == "high"; }},
        {"--requeue", [](const R& r) { return r.requeue == true; }},
        {"--signal=B:USR1@30",
         [](const R& r) {
             return r.signal && r.signal->signal == SIGUSR1 && r.signal->batch_shell_only &&
                    r.signal->before_end == Millis{30'000};
         }},
        {"--switches=1@10:00",
         [](const R& r) { return r.switches == 1U && r.switches_wait_s == 600; }},
        {"-t 1:00:00", [](const R& r) { return r.time_limit_s == 3600; }},
        {"-t 0", [](const R& r) { return r.time_limit_s == -1; }},
        {"--time=UNLIMITED", [](const R& r) { return r.time_limit_s == -1; }},
    };
    for (const auto& c : cases)
        EXPECT_TRUE(c.want(request_of(c.options))) << c.options;
}

TEST(Sbatch, RequestSaysWhereItComesFrom) {
    const api::JobRequest request = request_of("");
    EXPECT_EQ(request.request_id, api::RequestId{7});
    EXPECT_EQ(request.uid, 1000U);
    EXPECT_EQ(request.work_dir, "/home/alice");
    EXPECT_EQ(request.submit_host, "head");
    EXPECT_EQ(request.submit_line, "as typed");
    EXPECT_EQ(request.name, "wrap");
    EXPECT_EQ(request.limits, test_environment().limits);
    EXPECT_EQ(request.umask, 022U);
}

TEST(Sbatch, Chdir) {
    EXPECT_EQ(request_of("-D /data").work_dir, "/data");
    EXPECT_EQ(request_of("--chdir=sub").work_dir, "/home/alice/sub");
}

TEST(Sbatch, Wrap) {
    EXPECT_EQ(request_of("").script, "#!/bin/sh\n# Made by sbatch --wrap.\n\ntrue\n");
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch --wrap=true word", cluster);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err, "sbatch: error: Script arguments not permitted with --wrap option\n");
}

TEST(Sbatch, Export) {
    const auto names = [](const std::string& option) {
        Environment environment = test_environment();
        environment.variables = {"A=1", "B=2", "SLURM_X=3", "TWINYARD_STEP_SECRET=s"};
        return request_of(option, std::move(environment)).environment;
    };
    using V = std::vector<std::string>;
    const std::string dir = "SLURM_SUBMIT_DIR=/home/alice";
    EXPECT_EQ(names(""), (V{"A=1", "B=2", "SLURM_X=3", dir}));
    EXPECT_EQ(names("--export=ALL"), (V{"A=1", "B=2", "SLURM_X=3", dir}));
    EXPECT_EQ(names("--export=NONE"), (V{"SLURM_X=3", dir}));
    EXPECT_EQ(names("--export=NIL"), (V{dir}));
    EXPECT_EQ(names("--export=B,C=4"), (V{"B=2", "SLURM_X=3", "C=4", dir}));
    EXPECT_EQ(request_of("--export=NONE").export_env, "NONE");
}

TEST(Sbatch, Propagate) {
    EXPECT_TRUE(request_of("--propagate=NONE").limits.empty());
    EXPECT_EQ(request_of("--propagate=NOFILE").limits,
              (std::vector<model::ProcessLimit>{{.resource = 7, .soft = 1024}}));
    EXPECT_EQ(request_of("--propagate").limits.size(), 2U);
}

TEST(Sbatch, CommandLineOverEnvironmentOverScript) {
    Environment environment = with_file(
        "/home/alice/job.sh", "#!/bin/sh\n#SBATCH -J script -p a --mem=1\n#SBATCH -n 2\ntrue\n");
    environment.variables.insert(environment.variables.end(),
                                 {"SBATCH_JOB_NAME=env", "SBATCH_MEM_PER_CPU=5"});
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch -n 3 job.sh --mem=9 word", cluster, environment);
    ASSERT_EQ(ran.exit, kOk) << ran.err;
    const api::JobRequest& request = cluster.submitted.at(0);
    EXPECT_EQ(request.partition, "a");
    EXPECT_EQ(request.name, "env");
    EXPECT_EQ(request.ntasks, 3U);
    EXPECT_EQ(request.mem_per_node_mb, std::nullopt);
    EXPECT_EQ(request.mem_per_cpu_mb, 5);
    EXPECT_EQ(request.command, "/home/alice/job.sh");
    EXPECT_EQ(request.script_args, (std::vector<std::string>{"--mem=9", "word"}));
}

TEST(Sbatch, ScriptFromStdin) {
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch -n2", cluster, with_file("-", "#!/bin/sh\ntrue\n"));
    EXPECT_EQ(ran.out, "Submitted batch job 17\n");
    EXPECT_EQ(cluster.submitted.at(0).command, "");
}

TEST(Sbatch, BadInput) {
    const std::string fatal =
        "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n";
    const struct {
        const char* line;
        const char* script;
        std::string want;
        ExitCode exit;
    } cases[] = {
        {"sbatch nosuch", "", "sbatch: error: Unable to open file nosuch\n", 1},
        {"sbatch", "", "sbatch: error: Batch script is empty!\n", 1},
        {"sbatch",
         "#!/bin/sh\n#SBATCH --bogus\n",
         "sbatch: unrecognized option '--bogus'\n"
         "Try \"sbatch --help\" for more information\n",
         255},
        {"sbatch --mem=1 --mem-per-cpu=1 --wrap=x", "", fatal, 1},
        {"sbatch -N0 --wrap=x", "", "sbatch: error: invalid node count `0'\n", 255},
        {"sbatch -Nx --wrap=x", "", "sbatch: error: \"x\" is not a valid node count\n", 255},
        {"sbatch -n0 --wrap=x",
         "",
         "sbatch: error: Invalid numeric value \"0\" for --ntasks.\n",
         1},
        {"sbatch --time=x --wrap=x", "", "sbatch: error: Invalid --time specification\n", 255},
        {"sbatch --exclusive=x --wrap=x",
         "",
         "sbatch: error: Invalid --exclusive specification\n",
         255},
        {"sbatch --begin=x --wrap=x",
         "",
         "Invalid time specification (pos=0): x\n"
         "sbatch: error: Invalid --begin specification\n",
         255},
        {"sbatch --array=1-9 --wrap=x",
         "",
         "sbatch: error: --array is not built yet in this version of Twinyard\n",
         1},
        {"sbatch --export-file=f --wrap=x",
         "",
         "sbatch: error: --export-file is not built yet in this version of Twinyard\n",
         1},
    };
    for (const auto& c : cases) {
        FakeCluster cluster;
        const Ran ran = sbatch(c.line, cluster, with_file("-", c.script));
        EXPECT_EQ(ran.err, c.want) << c.line;
        EXPECT_EQ(ran.exit, c.exit) << c.line;
        EXPECT_TRUE(cluster.submitted.empty()) << c.line;
    }
}

TEST(Sbatch, UnbuiltVariableIsRefused) {
    Environment environment = test_environment();
    environment.variables.emplace_back("SBATCH_ARRAY_INX=1-3");
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch --wrap=true", cluster, environment);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err,
              "sbatch: error: SBATCH_ARRAY_INX (--array) is not built yet in this version of "
              "Twinyard\n");
}

TEST(Sbatch, Parsable) {
    FakeCluster cluster;
    EXPECT_EQ(sbatch("sbatch --parsable --wrap=true", cluster).out, "17\n");
}

TEST(Sbatch, Quiet) {
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(api::JobSubmitted{.job = 17, .message = "a warning"});
    const Ran ran = sbatch("sbatch --quiet --wrap=true", cluster);
    EXPECT_EQ(ran.out + ran.err, "");
}

TEST(Sbatch, Verbose) {
    FakeCluster cluster;
    const Ran ran = sbatch("sbatch -v --wrap=true", cluster);
    EXPECT_NE(ran.err.find("sbatch: working directory: /home/alice\n"), std::string::npos);
    EXPECT_EQ(ran.out, "Submitted batch job 17\n");
}

TEST(Sbatch, TestOnly) {
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(
        api::JobSubmitted{.job = 5,
                          .message = {},
                          .expected_start_unix_ms = 1'767'225'600'000,
                          .expected_nodes = "n1",
                          .partition = "main",
                          .expected_cpus = 8});
    const Ran ran = sbatch("sbatch --test-only --wrap=true", cluster);
    EXPECT_EQ(ran.err,
              "sbatch: Job 5 to start at 2026-01-01T00:00:00 using 8 processors on nodes n1 in "
              "partition main\n");
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(cluster.submitted.at(0).test_only);
}

TEST(Sbatch, RefusalInSlurmsWords) {
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(slurm::refuse(slurm::Refusal::ConfigNotAvailable,
                                                      "CPU count per node can not be satisfied"));
    const Ran ran = sbatch("sbatch -c 999 --wrap=true", cluster);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err,
              "sbatch: error: CPU count per node can not be satisfied\n"
              "sbatch: error: Batch job submission failed: Requested node configuration is not "
              "available\n");
}

TEST(Sbatch, ControllerDown) {
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(slurm::refuse(slurm::Refusal::ConnectFailure));
    const Ran ran = sbatch("sbatch --wrap=true", cluster);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err,
              "sbatch: error: Batch job submission failed: " + std::string(kConnectFailure) + "\n");
    EXPECT_EQ(cluster.submitted.size(), 1U);
}

TEST(Sbatch, TriesAgainWithTheSameRequestId) {
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(slurm::refuse(slurm::Refusal::SocketTimeout));
    cluster.submit_answers.emplace_back(slurm::refuse(slurm::Refusal::TryAgain));
    int slept = 0;
    Environment environment = test_environment();
    environment.sleep = [&](Millis) { ++slept; };
    const Ran ran = sbatch("sbatch --wrap=true", cluster, environment);
    EXPECT_EQ(ran.out, "Submitted batch job 17\n");
    EXPECT_EQ(ran.err, "sbatch: Slurm temporarily unable to accept job, sleeping and retrying\n");
    ASSERT_EQ(cluster.submitted.size(), 3U);
    EXPECT_EQ(cluster.submitted[0].request_id, cluster.submitted[2].request_id);
    EXPECT_EQ(slept, 2);
}

TEST(Sbatch, AFullStoreRefusesAtOnceUnlessAnEarlierTryMayBeStored) {
    const auto full = fail(ErrorCode::Conflict, "the controller cannot store new work: disk full");
    FakeCluster cluster;
    cluster.submit_answers.emplace_back(full);
    const Ran ran = sbatch("sbatch --wrap=true", cluster);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err,
              "sbatch: error: Batch job submission failed: the controller cannot store new work: "
              "disk full\n");
    EXPECT_EQ(cluster.submitted.size(), 1U);

    FakeCluster open;
    open.submit_answers.emplace_back(slurm::refuse(slurm::Refusal::SocketTimeout));
    open.submit_answers.emplace_back(full);
    EXPECT_EQ(sbatch("sbatch --wrap=true", open).out, "Submitted batch job 17\n");
}

TEST(Sbatch, Wait) {
    const auto ended = [](const char* state, int code, int signal) {
        api::JobRow row{.job = 17};
        row.state = row.base_state = state;
        row.exit_code = code;
        row.exit_signal = signal;
        return row;
    };
    const struct {
        api::JobRow row;
        ExitCode want;
    } cases[] = {
        {ended("COMPLETED", 0, 0), 0},
        {ended("FAILED", 7, 0), 7},
        {ended("FAILED", 0, 9), 1},
        {ended("CANCELLED", 0, 0), 1},
        {ended("TIMEOUT", 0, 15), 1},
    };
    for (const auto& c : cases) {
        FakeCluster cluster;
        cluster.job_answers = {{ended("PENDING", 0, 0)}, {ended("COMPLETING", 0, 0)}, {c.row}};
        const Ran ran = sbatch("sbatch --wait --wrap=true", cluster);
        EXPECT_EQ(ran.exit, c.want) << c.row.state;
        EXPECT_EQ(ran.out, "Submitted batch job 17\n");
    }
}

}  // namespace
}  // namespace twinyard::cli
