#include <gmock/gmock.h>

#include <cstdlib>

#include "step/shell/testing.h"

namespace twinyard::step {
namespace {

using model::EndKind;

struct OneNode {
    TestFolder folder;
    rpc::Loop loop;
    Stepd stepd{loop, folder, job_order(folder, {"n1"}), "n1"};
};

TEST(Batch, Table) {
    const struct {
        const char* name;
        const char* script;
        model::Outcome want;
        const char* out;
    } cases[] = {
        {"exit 0", "#!/bin/sh\necho hi\n", {.kind = EndKind::Completed}, "hi\n"},
        {"its own code",
         "#!/bin/sh\necho a; echo b >&2\nexit 3\n",
         {.kind = EndKind::Failed, .exit_code = 3},
         "a\nb\n"},
        {"a signal", "#!/bin/sh\nkill -9 $$\n", {.kind = EndKind::Failed, .signal = 9}, ""},
        {"$0 is in the spool",
         "#!/bin/sh\nbasename $0; read x || echo no input\n",
         {.kind = EndKind::Completed},
         "slurm_script\nno input\n"},
        {"the job's variables",
         "#!/bin/sh\necho $SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURMD_NODENAME $MINE\n",
         {.kind = EndKind::Completed},
         "17 n1 n1 yes\n"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        OneNode node;
        node.stepd.start(c.script, {"PATH=/usr/bin:/bin", "MINE=yes"});
        EXPECT_EQ(node.stepd.run_to_end(), c.want) << node.stepd.log();
        EXPECT_EQ(node.folder.read("out"), c.out);
        EXPECT_TRUE(node.stepd.run().has_batch);
    }
}

TEST(Batch, OutputFolderIsMadeAndFileTruncatedOrNot) {
    OneNode node;
    node.stepd.order_now().launch.std_out = "deep/er/%j.out";
    node.stepd.start("#!/bin/sh\necho hi\n");
    EXPECT_EQ(node.stepd.run_to_end().kind, EndKind::Completed);
    EXPECT_EQ(node.folder.read("deep/er/17.out"), "hi\n");

    for (const bool append : {false, true}) {
        OneNode again;
        ASSERT_TRUE(os::write_file_atomic(again.folder.file("out"), "old\n").has_value());
        again.stepd.order_now().launch.append_output = append;
        again.stepd.start("#!/bin/sh\necho new\n");
        EXPECT_EQ(again.stepd.run_to_end().kind, EndKind::Completed);
        EXPECT_EQ(again.folder.read("out"), append ? "old\nnew\n" : "new\n");
    }
}

TEST(Batch, FilesThatCannotBeOpenedFailTheJobWith53) {
    for (const bool input : {true, false}) {
        OneNode node;
        model::LaunchSpec& launch = node.stepd.order_now().launch;
        (input ? launch.std_in : launch.std_out) = "/proc/nowhere/file";
        node.stepd.start("#!/bin/sh\necho hi\n");
        const model::Outcome outcome = node.stepd.run_to_end();
        EXPECT_EQ(outcome.kind, EndKind::Failed);
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_EQ(outcome.signal, 53);
        EXPECT_EQ(node.folder.read("out"), "<no out>");
    }
}

TEST(Batch, MissingFolderAndInterpreterAreTold) {
    OneNode node;
    node.stepd.order_now().launch.work_dir = "/no/such/folder";
    node.stepd.order_now().launch.std_out = node.folder.file("out");
    node.stepd.start("#!/bin/sh\npwd\n");
    EXPECT_EQ(node.stepd.run_to_end().kind, EndKind::Completed);
    EXPECT_EQ(node.folder.read("out"),
              "error: couldn't chdir to /no/such/folder: No such file or directory: going to /tmp "
              "instead\n/tmp\n");

    OneNode other;
    other.stepd.start("#!/no/such/shell\n");
    const model::Outcome outcome = other.stepd.run_to_end();
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(other.folder.read("out"), testing::HasSubstr("slurmstepd: error: execve(): "));
}

TEST(Batch, NothingOfTheJobIsLeft) {
    OneNode node;
    node.stepd.start(
        "#!/bin/sh\n"
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > daemon; exec sleep 1000' &) &\n"
        "while [ ! -s daemon ]; do :; done\n");
    EXPECT_EQ(node.stepd.run_to_end().kind, EndKind::Completed);
    const pid_t pid = std::atoi(node.folder.read("daemon").c_str());
    ASSERT_GT(pid, 0);
    EXPECT_FALSE(os::process_stat(pid).has_value() && !os::process_stat(pid)->dead());
}

/// Starts the script, waits for its word "up", and stops it.
model::Outcome stop_after_start(OneNode& node, const std::string& script, api::StopReason reason) {
    node.stepd.start(script);
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ready));
    node.stepd.order(api::Stage::Go);
    EXPECT_TRUE(run_until(
        node.loop, [&] { return node.folder.read("out").find("up\n") != std::string::npos; }));
    node.stepd.order(api::Stage::Stop, reason);
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ended));
    return node.stepd.run().outcome;
}

TEST(Stop, CancelledByTerm) {
    OneNode node;
    const model::Outcome outcome =
        stop_after_start(node, "#!/bin/sh\necho up\nsleep 1000\n", api::StopReason::Cancelled);
    EXPECT_EQ(outcome.kind, EndKind::Cancelled);
    EXPECT_EQ(outcome.signal, 15);
    EXPECT_THAT(node.folder.read("out"),
                testing::ContainsRegex("slurmstepd: error: \\*\\*\\* JOB 17 ON n1 CANCELLED AT "
                                       "20.*T.* DUE to SIGNAL Terminated \\*\\*\\*"));
}

TEST(Stop, KilledWhenTermIsTrapped) {
    OneNode node;
    node.stepd.kill_wait = Millis(200);
    const model::Outcome outcome = stop_after_start(
        node,
        "#!/bin/sh\ntrap 'echo trapped' TERM\necho up\nwhile :; do sleep 0.05; done\n",
        api::StopReason::Preempted);
    EXPECT_EQ(outcome.kind, EndKind::Preempted);
    EXPECT_EQ(outcome.signal, 9);
    EXPECT_THAT(node.folder.read("out"), testing::HasSubstr("trapped\n"));
    EXPECT_THAT(node.folder.read("out"), testing::HasSubstr("DUE TO PREEMPTION"));
}

TEST(Stop, BeforeGoNothingRan) {
    OneNode node;
    node.stepd.start("#!/bin/sh\necho hi\n");
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ready));
    node.stepd.order(api::Stage::Stop, api::StopReason::Cancelled);
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ended));
    EXPECT_EQ(node.stepd.run().outcome.kind, EndKind::Cancelled);
    EXPECT_EQ(node.stepd.run().outcome.signal, 0);
    EXPECT_EQ(node.folder.read("out"), "<no out>");
}

TEST(TimeLimit, EndsTheJobByItself) {
    OneNode node;
    node.stepd.order_now().time_limit = Millis(1'000);
    node.stepd.start("#!/bin/sh\nsleep 1000\n");
    const Millis before = os::boot_now();
    const model::Outcome outcome = node.stepd.run_to_end();
    EXPECT_GE(os::boot_now() - before, Millis(1'000)) << "never early";
    EXPECT_EQ(outcome.kind, EndKind::TimeLimit);
    EXPECT_THAT(node.folder.read("out"), testing::HasSubstr("DUE TO TIME LIMIT ***"));
}

TEST(TimeLimit, WarnsTheShell) {
    OneNode node;
    node.stepd.order_now().time_limit = Millis(600'000);
    node.stepd.order_now().launch.end_warning = model::EndWarning{
        .signal = SIGUSR1, .before_end = Millis(600'000), .batch_shell_only = true};
    node.stepd.start("#!/bin/sh\ntrap 'echo warned; exit 5' USR1\nwhile :; do sleep 0.02; done\n");
    // Sent at once, maybe before the trap is there: either way it ends the shell.
    const model::Outcome outcome = node.stepd.run_to_end();
    EXPECT_TRUE(outcome.exit_code == 5 || outcome.signal == SIGUSR1);
}

TEST(Signal, TheBatchShellAlone) {
    OneNode node;
    node.stepd.start(
        "#!/bin/sh\ntrap 'echo usr1; exit 7' USR1\necho up\nwhile :; do sleep 0.02; done\n");
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ready));
    node.stepd.order(api::Stage::Go);
    EXPECT_TRUE(run_until(node.loop, [&] { return node.folder.read("out") == "up\n"; }));
    node.stepd.signal(SIGUSR1, api::SignalScope::Steps);  // No step: nobody hears it.
    node.stepd.signal(SIGUSR1, api::SignalScope::BatchShell);
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ended));
    EXPECT_EQ(node.stepd.run().outcome.exit_code, 7);
    EXPECT_EQ(node.folder.read("out"), "up\nusr1\n");
}

TEST(Exit, RecordIsLeftAndNobodyStartsTwice) {
    OneNode node;
    node.stepd.start("#!/bin/sh\nexit 4\n");
    EXPECT_EQ(node.stepd.run_to_end().exit_code, 4);
    const auto exit =
        wire::decode<api::ObservedRun>(os::read_file(node.stepd.dir() + "/exit").value_or("none"));
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->outcome.exit_code, 4);
    os::SpawnRequest again;
    again.argv = {TWINYARD_STEPD,
                  "--dir",
                  node.stepd.dir(),
                  "--node",
                  "n1",
                  "--node-dir",
                  "/tmp",
                  "--containers",
                  "twinyard_none"};
    const auto second = os::spawn(again);
    ASSERT_TRUE(second.has_value());
    const auto ended = os::wait_for(second->pid);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->code, 0);
    EXPECT_EQ(node.folder.read("out"), "");
}

}  // namespace
}  // namespace twinyard::step
