#include <gmock/gmock.h>

#include <algorithm>

#include "step/shell/testing.h"

namespace twinyard::step {
namespace {

using Kind = api::StepEvent::Kind;

/// A job whose batch script waits until the test ends it, on `names`.
class JobOnNodes {
  public:
    explicit JobOnNodes(const std::vector<std::string>& names,
                        const std::function<void(api::LaunchOrder&)>& change = {}) {
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            api::LaunchOrder order = job_order(folder, names);
            order.grant_index = i;
            order.key.member = i;
            if (change) change(order);
            nodes_.push_back(std::make_unique<Stepd>(loop, folder, std::move(order), names[i]));
            nodes_.back()->kill_wait = Millis(300);
            nodes_.back()->start(i == 0 ? "#!/bin/sh\nenv > env\nsleep 1000\n" : "");
        }
        std::vector<std::string> addresses;
        for (const auto& node : nodes_) {
            EXPECT_TRUE(node->wait_phase(api::Phase::Ready));
            addresses.push_back(node->run().address);
        }
        for (const auto& node : nodes_) {
            node->order_now().gang.addresses = addresses;
            node->order(api::Stage::Go);
            EXPECT_TRUE(node->wait_phase(api::Phase::Running));
        }
    }
    ~JobOnNodes() {
        for (const auto& node : nodes_) {
            if (node->ended()) continue;
            node->order(api::Stage::Stop, api::StopReason::Cancelled);
            EXPECT_TRUE(node->wait_phase(api::Phase::Ended)) << node->log();
        }
    }
    JobOnNodes(const JobOnNodes&) = delete;
    JobOnNodes& operator=(const JobOnNodes&) = delete;

    [[nodiscard]] Stepd& first() { return *nodes_.front(); }
    [[nodiscard]] Stepd& node(std::size_t i) { return *nodes_[i]; }
    [[nodiscard]] bool until(const std::function<bool()>& done) { return run_until(loop, done); }
    [[nodiscard]] bool over(const Srun& srun) {
        return until([&] { return srun.over; });
    }

    TestFolder folder;
    rpc::Loop loop;

  private:
    std::vector<std::unique_ptr<Stepd>> nodes_;
};

api::StepRequest shell(const std::string& text, std::optional<std::uint32_t> ntasks = {}) {
    api::StepRequest request;
    request.argv = {"sh", "-c", text};
    request.environment = {"PATH=/usr/bin:/bin"};
    request.name = "sh";
    request.ntasks = ntasks;
    return request;
}

TEST(Steps, TasksOnTwoNodesWithOutputAndRanks) {
    JobOnNodes job({"n1", "n2"});
    Srun srun(job.first(),
              shell("echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME "
                    "$SLURM_STEP_ID $SLURM_NTASKS; echo e$SLURM_PROCID >&2",
                    3));
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.exit_code, 0) << srun.refused << srun.messages;
    EXPECT_EQ(srun.out[0], "0 0 0 n1 0 3\n");
    EXPECT_EQ(srun.out[1], "1 1 0 n1 0 3\n");
    EXPECT_EQ(srun.out[2], "2 0 1 n2 0 3\n");
    EXPECT_EQ(srun.err[2], "e2\n");
    EXPECT_EQ(srun.events.front().kind, Kind::Created);
    EXPECT_EQ(srun.events.front().nodes, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(srun.events.front().tasks_per_node, (std::vector<std::uint32_t>{2, 1}));
    Srun next(job.first(), shell("echo $SLURM_STEP_ID"));
    ASSERT_TRUE(job.over(next));
    EXPECT_EQ(next.out[0], "1\n");
    EXPECT_EQ(next.out[1], "1\n");
}

TEST(Steps, InputGoesToEveryTask) {
    JobOnNodes job({"n1", "n2"});
    Srun srun(job.first(), shell("cat"));
    // Early parts are kept until the step is there.
    srun.send({.kind = Kind::Stdin, .data = "hello\n"});
    ASSERT_TRUE(job.until([&] { return srun.out[0] == "hello\n" && srun.out[1] == "hello\n"; }));
    srun.send({.kind = Kind::Stdin, .data = "more\n"});
    srun.send({.kind = Kind::Stdin});
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.out[1], "hello\nmore\n");
}

TEST(Steps, MuchOutputComesWhole) {
    JobOnNodes job({"n1", "n2"});
    constexpr std::size_t kBytes = std::size_t{12} << 20;
    Srun srun(job.first(), shell("head -c " + std::to_string(kBytes) + " /dev/zero"));
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.exit_code, 0);
    EXPECT_EQ(srun.out[0].size(), kBytes);
    EXPECT_EQ(srun.out[1].size(), kBytes);
}

TEST(Steps, ExitCodes) {
    JobOnNodes job({"n1", "n2"});
    const struct {
        const char* name;
        const char* script;
        int want;
    } cases[] = {
        {"the highest", "exit $((SLURM_PROCID + 3))", 4},
        {"a signal", "test $SLURM_PROCID = 1 || kill -9 $$", 137},
        {"none", "true", 0},
    };
    for (const auto& c : cases) {
        Srun srun(job.first(), shell(c.script));
        ASSERT_TRUE(job.over(srun)) << c.name;
        EXPECT_EQ(srun.exit_code, c.want) << c.name;
    }
    api::StepRequest request = shell("");
    request.argv = {"nosuch"};
    Srun unknown(job.first(), request);
    ASSERT_TRUE(job.over(unknown));
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_EQ(unknown.err[1], "slurmstepd: error: execve(): nosuch: No such file or directory\n");
    request.argv = {job.folder.file("plain")};
    ASSERT_TRUE(os::write_file_atomic(request.argv[0], "text").has_value());
    Srun forbidden(job.first(), request);
    ASSERT_TRUE(job.over(forbidden));
    EXPECT_EQ(forbidden.exit_code, 13);
}

TEST(Steps, OneBadExitKillsTheRest) {
    JobOnNodes job({"n1", "n2"});
    api::StepRequest request = shell("test $SLURM_PROCID = 0 && exit 5; exec sleep 1000");
    request.kill_on_bad_exit = true;
    Srun srun(job.first(), request);
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.exit_code, 128 + SIGTERM);
}

TEST(Steps, BusyCpusMakeTheNextOneWait) {
    JobOnNodes job({"n1"});
    Srun first(job.first(), shell("read x"));
    ASSERT_TRUE(job.until([&] { return first.started == 1; }));
    Srun second(job.first(), shell("echo second"));
    ASSERT_TRUE(job.until([&] { return second.waiting; }));
    api::StepRequest overlapping = shell("echo beside");
    overlapping.overlap = true;
    Srun third(job.first(), overlapping);
    ASSERT_TRUE(job.over(third));
    EXPECT_EQ(third.out[0], "beside\n");
    EXPECT_FALSE(second.created);
    first.send({.kind = Kind::Stdin});
    ASSERT_TRUE(job.over(second));
    EXPECT_EQ(second.out[0], "second\n");
}

TEST(Steps, DevicesOfTheJobAreShared) {
    JobOnNodes job({"n1"}, [](api::LaunchOrder& order) {
        order.grant.devices = {4, 5, 6};
        order.device_class_paths.assign(3, "gpu/h100");
        order.gang.devices = {3};
    });
    api::StepRequest one = shell("echo $CUDA_VISIBLE_DEVICES; read x", 1);
    one.exact = true;
    one.gres = "gpu:1";
    Srun first(job.first(), one);
    ASSERT_TRUE(job.until([&] { return !first.out[0].empty(); }));
    EXPECT_EQ(first.out[0], "4\n");
    Srun second(job.first(), one);
    ASSERT_TRUE(job.until([&] { return !second.out[0].empty(); }));
    EXPECT_EQ(second.out[0], "5\n");
    api::StepRequest too_many = one;
    too_many.gres = "gpu:4";
    Srun refused(job.first(), too_many);
    ASSERT_TRUE(job.over(refused));
    EXPECT_EQ(refused.refused, "Invalid generic resource (gres) specification");
    EXPECT_THAT(job.folder.read("env"), testing::HasSubstr("CUDA_VISIBLE_DEVICES=4,5,6\n"));
}

TEST(Steps, SignalsReachTheTasks) {
    JobOnNodes job({"n1", "n2"});
    Srun srun(job.first(), shell("trap 'exit 9' USR1; echo up; while :; do sleep 0.02; done"));
    ASSERT_TRUE(job.until([&] { return srun.out[0] == "up\n" && srun.out[1] == "up\n"; }));
    srun.send({.kind = Kind::Signal, .value = SIGUSR1});
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.exit_code, 9);
}

TEST(Steps, SrunThatIsGoneTakesItsStepAlong) {
    JobOnNodes job({"n1", "n2"});
    Srun srun(job.first(),
              shell("trap '' TERM; echo $$ > pid$SLURM_PROCID; echo up; "
                    "while :; do sleep 0.02; done"));
    ASSERT_TRUE(job.until([&] { return srun.out[0] == "up\n" && srun.out[1] == "up\n"; }));
    srun.leave();
    ASSERT_TRUE(job.until([&] {
        const auto& steps = job.first().steps();
        return !steps.empty() && steps.back().outcome.kind == model::EndKind::Cancelled;
    }));
    for (const char* file : {"pid0", "pid1"}) {
        const auto stat = os::process_stat(std::atoi(job.folder.read(file).c_str()));
        EXPECT_TRUE(!stat || stat->dead()) << file;
    }
}

TEST(Steps, FilesOfTheStep) {
    JobOnNodes job({"n1", "n2"});
    api::StepRequest request = shell("echo t$SLURM_PROCID");
    request.std_out = "step.%t";
    Srun own(job.first(), request);
    ASSERT_TRUE(job.over(own));
    EXPECT_EQ(job.folder.read("step.0"), "t0\n");
    EXPECT_EQ(job.folder.read("step.1"), "t1\n");
    request.std_out = "all.txt";
    ASSERT_TRUE(os::write_file_atomic(job.folder.file("all.txt"), "old\n").has_value());
    Srun shared(job.first(), request);
    ASSERT_TRUE(job.over(shared));
    EXPECT_THAT(job.folder.read("all.txt"), testing::AnyOf("t0\nt1\n", "t1\nt0\n"));
}

TEST(Steps, RecordsAndRefusals) {
    JobOnNodes job({"n1", "n2"});
    Srun fine(job.first(), shell("exit 3", 2));
    ASSERT_TRUE(job.over(fine));
    ASSERT_TRUE(job.until([&] { return job.first().steps().size() == 2; }));
    const api::StepRecord& record = job.first().steps().back();
    EXPECT_EQ(record.step, 0U);
    EXPECT_EQ(record.name, "sh");
    EXPECT_EQ(record.tasks, 2U);
    EXPECT_EQ(record.outcome.exit_code, 3);
    Srun large(job.first(), shell("true", 100));
    ASSERT_TRUE(job.over(large));
    EXPECT_EQ(large.refused, "More processors requested than permitted");
}

TEST(Steps, LostNodeCountsAsKilled) {
    JobOnNodes job({"n1", "n2"});
    job.node(1).order(api::Stage::Stop, api::StopReason::Cancelled);
    ASSERT_TRUE(job.node(1).wait_phase(api::Phase::Ended));
    Srun srun(job.first(), shell("true"));
    ASSERT_TRUE(job.over(srun));
    EXPECT_EQ(srun.exit_code, 137);
    EXPECT_THAT(srun.messages, testing::HasSubstr("node n2"));
}

TEST(Steps, EndOfTheJobEndsThem) {
    JobOnNodes job({"n1", "n2"});
    Srun srun(job.first(), shell("echo up; exec sleep 1000"));
    ASSERT_TRUE(job.until([&] { return srun.out[0] == "up\n" && srun.out[1] == "up\n"; }));
    job.first().order(api::Stage::Stop, api::StopReason::TimeLimit);
    ASSERT_TRUE(job.first().wait_phase(api::Phase::Ended)) << job.first().log();
    EXPECT_THAT(srun.messages, testing::HasSubstr("*** STEP 17.0 ON n1 CANCELLED AT "));
    const auto steps = os::read_file(job.first().dir() + "/steps");
    ASSERT_TRUE(steps.has_value());
    EXPECT_FALSE(steps->empty());
}

}  // namespace
}  // namespace twinyard::step
