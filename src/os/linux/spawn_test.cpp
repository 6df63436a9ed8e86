#include "os/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>

#include "os/linux/testing.h"

namespace twinyard::os {
namespace {

using testing::HasSubstr;

class Spawn : public testing::Test {
  protected:
    SpawnRequest request(std::vector<std::string> argv) {
        SpawnRequest request;
        request.argv = std::move(argv);
        request.env = {"PATH=/no/such/folder:/usr/bin:/bin", "A=b"};
        request.stdout_stream = PathStream{folder_.file("out"), O_WRONLY | O_CREAT | O_TRUNC, 0666};
        request.stderr_stream = SameAsStdout{};
        request.stdin_stream = PathStream{"/dev/null", O_RDONLY, 0};
        return request;
    }

    /// Runs to the end; the output, or "stage errno" when it did not start.
    std::string run(const SpawnRequest& request) {
        const auto started = spawn(request);
        if (!started) {
            return std::string(to_string(started.error().stage)) + ' ' +
                   std::to_string(started.error().error_number);
        }
        EXPECT_GT(started->start_time, 0U);
        exit_ = wait_for(started->pid).value();
        EXPECT_EQ(exit_.id, *started);
        return read_file(folder_.file("out")).value_or("no output");
    }

    TestFolder folder_;
    ExitStatus exit_;
};

TEST_F(Spawn, PassesArgumentsUnchanged) {
    EXPECT_EQ(run(request({TWINYARD_VICTIM, "args", "", "a b", "$HOME;*"})),
              "args\n\na b\n$HOME;*\n");
    EXPECT_EQ(run(request({TWINYARD_VICTIM, "environment"})),
              "PATH=/no/such/folder:/usr/bin:/bin\nA=b\n");
    EXPECT_EQ(run(request({"env"})), "PATH=/no/such/folder:/usr/bin:/bin\nA=b\n");
}

TEST_F(Spawn, SaysWhyAProgramDoesNotStart) {
    ASSERT_TRUE(write_file_atomic(folder_.file("data"), "#!/bin/sh\n", 0644).has_value());
    ASSERT_TRUE(write_file_atomic(folder_.file("bare"), "echo hi\n", 0755).has_value());
    ASSERT_TRUE(write_file_atomic(folder_.file("lost"), "#!/no/such/shell\n", 0755).has_value());
    EXPECT_EQ(run(request({"no-such-program"})), "exec 2");
    EXPECT_EQ(run(request({"/no/such/program"})), "exec 2");
    EXPECT_EQ(run(request({folder_.file("lost")})), "exec 2");
    EXPECT_EQ(run(request({folder_.file("data")})), "exec 13");
    EXPECT_EQ(run(request({folder_.file("bare")})), "exec 8");
    EXPECT_EQ(run(request({})), "exec 2");
    const auto failed = spawn(request({"/no/such/program"}));
    EXPECT_EQ(failed.error().message, "exec /no/such/program: No such file or directory");
    EXPECT_FALSE(reap_any().has_value());
}

TEST_F(Spawn, GoesToTmpWhenTheFolderIsMissing) {
    SpawnRequest work = request({"pwd"});
    work.cwd = folder_.file("none");
    EXPECT_EQ(run(work),
              "error: couldn't chdir to " + work.cwd +
                  ": No such file or directory: going to /tmp instead\n/tmp\n");
    work.cwd_fallback_to_tmp = false;
    EXPECT_EQ(run(work), "chdir 2");
    work.cwd = folder_.path();
    EXPECT_EQ(run(work), folder_.path() + "\n");
}

TEST_F(Spawn, OpensStreams) {
    SpawnRequest work = request({"cat"});
    ASSERT_TRUE(write_file_atomic(folder_.file("in"), "hello").has_value());
    work.cwd = folder_.path();
    work.stdin_stream = PathStream{"in", O_RDONLY, 0};
    work.umask = 077;
    EXPECT_EQ(run(work), "hello");
    struct stat info {};
    ASSERT_EQ(::stat(folder_.file("out").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);

    work.stdin_stream = PathStream{"none", O_RDONLY, 0};
    EXPECT_EQ(run(work), "stdin 2");
    work.stdin_stream = PathStream{"in", O_RDONLY, 0};
    work.stdout_stream = PathStream{"none/out", O_WRONLY | O_CREAT, 0666};
    EXPECT_EQ(run(work), "stdout 2");
    work.stdout_stream = PathStream{folder_.path(), O_WRONLY, 0666};
    EXPECT_EQ(run(work), "stdout 21");
}

TEST_F(Spawn, PlacesDescriptorsAndClosesTheRest) {
    Pipe pipe = make_pipe().value();
    Pipe other = make_pipe().value();
    const int leak = ::open("/dev/null", O_RDONLY);
    SpawnRequest work = request({"/bin/sh", "-c", "echo to-three >&3; ls /proc/self/fd"});
    work.fds = {{pipe.write_end.get(), 3}, {other.write_end.get(), pipe.write_end.get()}};
    EXPECT_THAT(run(work), testing::StartsWith("0\n1\n2\n3\n"));
    ::close(leak);
    char text[16] = {};
    EXPECT_EQ(::read(pipe.read_end.get(), text, sizeof text), 9);
    EXPECT_STREQ(text, "to-three\n");
}

TEST_F(Spawn, SwapsStreams) {
    Pipe out = make_pipe().value();
    SpawnRequest work = request({"/bin/sh", "-c", "echo one; echo two >&2"});
    work.stdout_stream = FdStream{out.write_end.get()};
    work.stderr_stream = PathStream{folder_.file("out"), O_WRONLY | O_CREAT, 0666};
    EXPECT_EQ(run(work), "two\n");
    char text[16] = {};
    EXPECT_EQ(::read(out.read_end.get(), text, sizeof text), 4);
    EXPECT_STREQ(text, "one\n");
}

TEST_F(Spawn, BeginsWithFreshSignals) {
    struct sigaction before {};
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR1, &ignore, &before);
    sigset_t blocked;
    sigset_t mask;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    const std::string status = run(request({"grep", "^Sig[BI]", "/proc/self/status"}));
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(Spawn, SetsLimitsAndAffinityAndNice) {
    SpawnRequest work = request({"/bin/sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -Sc; nice"});
    work.limits = {{RLIMIT_NOFILE, 100, 200}, {RLIMIT_CORE, 0, {}}};
    work.nice = 19;
    work.affinity = {0};
    EXPECT_EQ(run(work), "100\n200\n0\n19\n");
    work.argv = {"grep", "Cpus_allowed_list", "/proc/self/status"};
    EXPECT_THAT(run(work), HasSubstr("\t0\n"));
    work.affinity = {100000};
    EXPECT_EQ(run(work), "set limits 22");
}

TEST_F(Spawn, TellsHowAProcessEnded) {
    run(request({"/bin/sh", "-c", "exit 7"}));
    EXPECT_EQ(exit_.code, 7);
    EXPECT_EQ(exit_.signal, 0);
    run(request({"/bin/sh", "-c", "kill -9 $$"}));
    EXPECT_EQ(exit_.code, 0);
    EXPECT_EQ(exit_.signal, SIGKILL);
    EXPECT_GT(exit_.rss_peak_bytes, 100000U);

    const ProcessId id = spawn(request({"true"})).value();
    std::optional<ExitStatus> any;
    EXPECT_TRUE(eventually([&] { return (any = reap_any()).has_value(); }));
    EXPECT_EQ(any->id, id);
    EXPECT_EQ(wait_for(id.pid).error().code(), ErrorCode::NotFound);
    EXPECT_EQ(try_wait_for(id.pid).error().code(), ErrorCode::NotFound);
}

TEST_F(Spawn, HasATerminal) {
    PseudoTerminal terminal = open_pseudo_terminal(33, 77).value();
    SpawnRequest work = request({"/bin/sh", "-c", "stty size </dev/tty"});
    work.stdin_stream = FdStream{terminal.terminal.get()};
    work.controlling_terminal = true;
    EXPECT_EQ(run(work), "33 77\n");
}

TEST_F(Spawn, BecomesTheUser) {
    // A copy: the build folder may be closed to other users.
    const std::string victim = folder_.file("victim");
    std::filesystem::copy_file(TWINYARD_VICTIM, victim);
    ASSERT_EQ(::chmod(victim.c_str(), 0755), 0);
    SpawnRequest work = request({victim, "ids"});
    if (!is_root()) {
        work.identity = own_identity();
        EXPECT_THAT(run(work), testing::StartsWith(std::to_string(::getuid()) + " "));
        work.identity = Identity{::getuid() + 1, ::getgid(), {}};
        EXPECT_EQ(run(work), "become the user 1");
        return;
    }
    work.identity = Identity{kStranger, kStranger + 1, {kStranger + 2, kStranger + 3}};
    EXPECT_EQ(run(work), "65000 65001 65002 65003\n");
    struct stat info {};
    ASSERT_EQ(::stat(folder_.file("out").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kStranger);
    EXPECT_EQ(info.st_gid, kStranger + 1);

    // Where the user may not write, root does not write for it.
    ASSERT_EQ(::mkdir(folder_.file("closed").c_str(), 0700), 0);
    work.stdout_stream = PathStream{folder_.file("closed/out"), O_WRONLY | O_CREAT, 0666};
    EXPECT_EQ(run(work), "stdout 13");
}

/// The whole of this program once more as an ordinary user: what root may do hides what others may
/// not.
TEST(AsOrdinaryUser, EverythingElsePasses) {
    if (!is_root()) GTEST_SKIP() << "runs as root, to start the others as an ordinary user";
    char program[4096] = {};
    ASSERT_GT(::readlink("/proc/self/exe", program, sizeof program - 1), 0);
    const TestFolder folder;
    SpawnRequest request;
    request.argv = {program, "--gtest_filter=-AsOrdinaryUser.*", "--gtest_brief=1"};
    request.env = {"PATH=/usr/bin:/bin"};
    request.cwd = "/";
    request.identity = Identity{kStranger, kStranger, {}};
    request.stdout_stream = PathStream{folder.file("out"), O_WRONLY | O_CREAT, 0666};
    request.stderr_stream = SameAsStdout{};
    const auto started = spawn(request);
    if (!started && started.error().error_number == EACCES) {
        GTEST_SKIP() << "the build folder is closed to other users: " << started.error().message;
    }
    ASSERT_TRUE(started.has_value()) << started.error().message;
    EXPECT_EQ(wait_for(started->pid).value().code, 0) << read_file(folder.file("out")).value_or("");
}

}  // namespace
}  // namespace twinyard::os
