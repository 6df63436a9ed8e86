#include <gtest/gtest.h>

#include <csignal>
#include <deque>

#include "cli/job_testing.h"
#include "cli/srun_options.h"
#include "cli/step_run.h"

namespace twinyard::cli {
namespace {

using api::StepEvent;
using api::StepRequest;
using Kind = api::StepEvent::Kind;
using job_testing::test_environment;

SrunOptions read(const std::string& line, const Environment& environment) {
    const auto words = job_testing::words_of(line);
    const std::vector<std::string_view> args(words.begin(), words.end());
    Output output("srun");
    SrunCommand command = read_srun(args, environment, output);
    EXPECT_FALSE(command.exit) << line << ": " << output.err_text();
    return command.options;
}

TEST(Srun, OptionsReachTheStep) {
    using R = StepRequest;
    const struct {
        const char* options;
        bool (*want)(const R&);
    } cases[] = {
        {"-D /data", [](const R& r) { return r.work_dir == "/data"; }},
        {"--chdir=sub", [](const R& r) { return r.work_dir == "/home/alice/sub"; }},
        {"-c 4", [](const R& r) { return r.cpus_per_task == 4U; }},
        {"-e err", [](const R& r) { return r.std_err == "err"; }},
        {"-e none", [](const R& r) { return r.std_err == "/dev/null"; }},
        {"-o out.%t", [](const R& r) { return r.std_out == "out.%t"; }},
        {"--exact", [](const R& r) { return r.exact; }},
        {"--exclusive", [](const R& r) { return r.exact; }},
        {"-x n1", [](const R& r) { return r.exclude == "n1"; }},
        {"--gpus=2", [](const R& r) { return r.gpus == "2"; }},
        {"--gpus-per-node=h100:2", [](const R& r) { return r.gres == "gpu:h100:2"; }},
        {"--gpus-per-task=1", [](const R& r) { return r.gpus_per_task == "1"; }},
        {"--gres=gpu:1", [](const R& r) { return r.gres == "gpu:1"; }},
        {"-J step", [](const R& r) { return r.name == "step"; }},
        {"", [](const R& r) { return r.name == "true"; }},
        {"-K", [](const R& r) { return r.kill_on_bad_exit; }},
        {"-K0", [](const R& r) { return !r.kill_on_bad_exit; }},
        {"--kill-on-bad-exit=1", [](const R& r) { return r.kill_on_bad_exit; }},
        {"-l", [](const R& r) { return r.label; }},
        {"--mem=1G", [](const R& r) { return r.mem_per_node_mb == 1024; }},
        {"--mem-per-cpu=100", [](const R& r) { return r.mem_per_cpu_mb == 100; }},
        {"-w n1,n2", [](const R& r) { return r.nodelist == "n1,n2"; }},
        {"-N2", [](const R& r) { return r.nodes_min == 2U && !r.ntasks; }},
        {"-n 3", [](const R& r) { return r.ntasks == 3U; }},
        {"--ntasks-per-node=2", [](const R& r) { return r.ntasks_per_node == 2U; }},
        {"--overlap", [](const R& r) { return r.overlap; }},
        {"-u", [](const R& r) { return r.unbuffered; }},
    };
    for (const auto& c : cases) {
        const auto options = read(std::string(c.options) + " /bin/true -n", test_environment());
        EXPECT_TRUE(c.want(options.step)) << c.options;
        EXPECT_EQ(options.step.argv, (std::vector<std::string>{"/bin/true", "-n"}));
    }
}

TEST(Srun, JobsVariables) {
    Environment environment = test_environment();
    environment.variables.insert(
        environment.variables.end(),
        {"SLURM_NTASKS=6", "SLURM_CPUS_PER_TASK=2", "TWINYARD_STEP_SECRET=s"});
    EXPECT_EQ(read("true", environment).step.ntasks, 6U);
    EXPECT_EQ(read("-n 1 true", environment).step.ntasks, 1U);
    EXPECT_EQ(read("-N 2 true", environment).step.ntasks, std::nullopt);
    EXPECT_EQ(read("true", environment).step.cpus_per_task, 2U);
    EXPECT_EQ(read("true", environment).step.secret, "s");
}

TEST(Srun, Export) {
    Environment environment = test_environment();
    environment.variables = {"A=1", "SLURM_X=2", "TWINYARD_STEP_SECRET=s"};
    using V = std::vector<std::string>;
    EXPECT_EQ(read("true", environment).step.environment, (V{"A=1", "SLURM_X=2"}));
    EXPECT_EQ(read("--export=NONE true", environment).step.environment, (V{"SLURM_X=2"}));
    environment.variables.emplace_back("SLURM_EXPORT_ENV=NONE");
    EXPECT_EQ(read("true", environment).step.environment,
              (V{"SLURM_X=2", "SLURM_EXPORT_ENV=NONE"}));
    EXPECT_EQ(read("--export=ALL true", environment).step.environment,
              (V{"A=1", "SLURM_X=2", "SLURM_EXPORT_ENV=NONE"}));
}

TEST(Srun, Input) {
    EXPECT_EQ(read("true", test_environment()).step.std_in, "");
    EXPECT_EQ(read("--input=all true", test_environment()).step.std_in, "");
    EXPECT_EQ(read("-i none true", test_environment()).step.std_in, "/dev/null");
    EXPECT_EQ(read("-i data true", test_environment()).step.std_in, "data");
}

std::string errors(std::string_view line, const Environment& environment = test_environment()) {
    job_testing::FakeCluster cluster;
    const job_testing::Ran ran = job_testing::run(run_srun, line, environment, cluster);
    EXPECT_NE(ran.exit, kOk) << line;
    return ran.err;
}

TEST(Srun, Mpi) {
    EXPECT_EQ(errors("srun --mpi=pmix true"),
              "srun: error: --mpi=pmix is not built yet in this version of Twinyard\n");
    EXPECT_EQ(read("--mpi=none true", test_environment()).step.argv.size(), 1U);
}

TEST(Srun, JobId) {
    Environment environment = test_environment();
    environment.variables.insert(environment.variables.end(),
                                 {"SLURM_JOB_ID=5", "TWINYARD_STEPD_SOCKET=/nowhere"});
    EXPECT_EQ(errors("srun --jobid=6 true", environment),
              "srun: error: steps of another job are not built yet in this version of Twinyard\n");
}

TEST(Srun, Verbose) {
    EXPECT_EQ(read("-vv true", test_environment()).verbose, 2U);
}

TEST(Srun, NoCommandAndNoJob) {
    EXPECT_EQ(errors("srun -n2"), "srun: fatal: No command given to execute.\n");
    EXPECT_EQ(errors("srun true"),
              "srun: error: allocations by srun are not built yet in this version of Twinyard: "
              "use it in a batch script\n");
}

// ---- a step's stream

class FakeStream final : public StepStream {
  public:
    std::deque<StepHappening> happenings;
    std::vector<StepEvent> sent;

    Status start(const StepRequest&) override { return {}; }
    Status send(const StepEvent& event) override {
        sent.push_back(event);
        return {};
    }
    Result<StepHappening> next(bool) override {
        if (happenings.empty()) return fail(ErrorCode::Unavailable, "connection lost");
        StepHappening happening = std::move(happenings.front());
        happenings.pop_front();
        return happening;
    }
    void add(StepEvent event) {
        happenings.push_back({.kind = StepHappening::Kind::Event, .event = std::move(event)});
    }
    void add_input(std::string input) {
        happenings.push_back({.kind = StepHappening::Kind::Input, .input = std::move(input)});
    }
    void add_signal(std::int32_t signal) {
        happenings.push_back({.kind = StepHappening::Kind::Signal, .signal = signal});
    }
};

struct StepRan {
    ExitCode exit;
    std::string out, err;
};
StepRan run(FakeStream& stream,
            StepRequest request = {},
            StepView view = {.job = "5"},
            const Environment& environment = test_environment()) {
    Output output("srun");
    const ExitCode exit = run_step(stream, request, view, environment, output);
    return {exit, output.out_text(), output.err_text()};
}

StepEvent created(std::vector<std::uint32_t> tasks) {
    return {.kind = Kind::Created, .step = 2, .tasks_per_node = std::move(tasks)};
}

TEST(Srun, OutputEndsAndCode) {
    FakeStream stream;
    stream.add(created({2}));
    stream.add({.kind = Kind::Stdout, .data = "hello\n"});
    stream.add({.kind = Kind::Stderr, .data = "oh\n"});
    stream.add({.kind = Kind::TaskEnded, .task = 0, .value = 7 << 8, .node = "n1"});
    stream.add({.kind = Kind::TaskEnded, .task = 1, .value = SIGKILL, .node = "n1"});
    stream.add({.kind = Kind::Finished, .value = 137});
    const StepRan ran = run(stream);
    EXPECT_EQ(ran.exit, 137);
    EXPECT_EQ(ran.out, "hello\n");
    EXPECT_EQ(ran.err,
              "oh\n"
              "srun: error: n1: task 0: Exited with exit code 7\n"
              "srun: error: n1: task 1: Killed\n");
}

TEST(Srun, LabelsAreOfWholeLines) {
    FakeStream stream;
    stream.add(created({8, 8}));
    stream.add({.kind = Kind::Stdout, .task = 3, .data = "on"});
    stream.add({.kind = Kind::Stdout, .task = 12, .data = "two\n"});
    stream.add({.kind = Kind::Stdout, .task = 3, .data = "e\nrest"});
    stream.add({.kind = Kind::Finished});
    StepRequest request;
    request.label = true;
    EXPECT_EQ(run(stream, request).out, "12: two\n 3: one\n 3: rest\n");
}

TEST(Srun, TasksDoNotWriteIntoEachOthersLines) {
    const auto output = [](bool unbuffered) {
        FakeStream stream;
        stream.add(created({1, 1}));
        stream.add({.kind = Kind::Stdout, .task = 0, .data = "on"});
        stream.add({.kind = Kind::Stdout, .task = 1, .data = "two\n"});
        stream.add({.kind = Kind::Stdout, .task = 0, .data = "e\nrest"});
        stream.add({.kind = Kind::Finished});
        StepRequest request;
        request.unbuffered = unbuffered;
        return run(stream, request).out;
    };
    EXPECT_EQ(output(false), "two\none\nrest");
    EXPECT_EQ(output(true), "ontwo\ne\nrest");
}

TEST(Srun, InputGoesToTheTasks) {
    FakeStream stream;
    stream.add(created({1}));
    stream.add_input("line\n");
    stream.add_input("");
    stream.add({.kind = Kind::Finished});
    EXPECT_EQ(run(stream).exit, 0);
    ASSERT_EQ(stream.sent.size(), 2U);
    EXPECT_EQ(stream.sent[0].data, "line\n");
    EXPECT_EQ(stream.sent[1].data, "");
}

TEST(Srun, WaitingStep) {
    const auto waiting = [] {
        FakeStream stream;
        stream.add({.kind = Kind::Waiting, .data = "Requested nodes are busy"});
        stream.add(created({1}));
        stream.add({.kind = Kind::Finished});
        return stream.happenings;
    };
    FakeStream stream;
    stream.happenings = waiting();
    EXPECT_EQ(run(stream).err,
              "srun: Job 5 step creation temporarily disabled, retrying (Requested nodes are "
              "busy)\n"
              "srun: Step created for StepId=5.2\n");
    stream.happenings = waiting();
    const bool quiet = read("--quiet true", test_environment()).quiet;
    EXPECT_EQ(run(stream, {}, {.job = "5", .quiet = quiet}).err, "");
}

TEST(Srun, RefusedStep) {
    FakeStream stream;
    stream.add({.kind = Kind::Refused, .data = "More processors requested than permitted"});
    const StepRan ran = run(stream);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err,
              "srun: error: Unable to create step for job 5: More processors requested than "
              "permitted\n");
}

TEST(Srun, LostDaemonIsAFailure) {
    FakeStream stream;
    stream.add(created({1}));
    const StepRan ran = run(stream, {}, {.job = "5", .own_failure = 42});
    EXPECT_EQ(ran.exit, 42);
    EXPECT_EQ(ran.err,
              "srun: error: Connection to the step daemon of job 5 failed: connection lost\n");
}

TEST(Srun, Interrupt) {
    const auto signals_sent = [](bool quit_on_interrupt, std::int64_t between_ms) {
        std::int64_t now = 0;
        Environment environment = test_environment();
        environment.now_ms = [&now, between_ms] { return now += between_ms; };
        FakeStream stream;
        stream.add(created({1}));
        stream.add_signal(SIGINT);
        stream.add_signal(SIGINT);
        stream.add({.kind = Kind::Finished, .value = 130});
        (void)run(stream, {}, {.job = "5", .quit_on_interrupt = quit_on_interrupt}, environment);
        return stream.sent.size();
    };
    EXPECT_EQ(signals_sent(false, 500), 1U) << "the second within a second is meant";
    EXPECT_EQ(signals_sent(false, 5000), 0U) << "two single ones only ask";
    const bool at_once = read("--quit-on-interrupt true", test_environment()).quit_on_interrupt;
    EXPECT_EQ(signals_sent(at_once, 5000), 2U);
}

TEST(Srun, OtherSignalsArePassedOn) {
    FakeStream stream;
    stream.add(created({1}));
    stream.add_signal(SIGUSR1);
    stream.add({.kind = Kind::Finished});
    (void)run(stream);
    ASSERT_EQ(stream.sent.size(), 1U);
    EXPECT_EQ(stream.sent[0].kind, Kind::Signal);
    EXPECT_EQ(stream.sent[0].value, SIGUSR1);
}

}  // namespace
}  // namespace twinyard::cli
