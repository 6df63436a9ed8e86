#include <gmock/gmock.h>

#include <cstdlib>

#include "step/shell/testing.h"

namespace twinyard::step {
namespace {

using model::EndKind;

/// An account number that no system gives to anybody.
constexpr std::uint32_t kStranger = 65'000;

struct OneNode {
    OneNode() { EXPECT_EQ(::chmod(folder.path().c_str(), 0777), 0); }
    TestFolder folder;
    rpc::Loop loop;
    Stepd stepd{loop, folder, job_order(folder, {"n1"}), "n1"};
};

bool is_root() {
    return ::geteuid() == 0;
}

TEST(OtherUser, JobIsTheUsersAndWritesAsTheUser) {
    if (!is_root()) GTEST_SKIP() << "only root can become another user";
    for (const bool private_parent : {false, true}) {
        SCOPED_TRACE(private_parent);
        OneNode node;
        node.stepd.order_now().uid = node.stepd.order_now().gid = kStranger;
        node.stepd.order_now().launch.umask = 077;
        if (private_parent) {
            ASSERT_EQ(::chmod(node.folder.file("node_n1").c_str(), 0700), 0);
        }
        node.stepd.start(
            "#!/bin/sh\nid -u\ntest -S $TWINYARD_STEPD_SOCKET && echo socket\n"
            "cat /proc/self/mountinfo > mine\ntest -r $0 && dirname $0 > spool\n");
        EXPECT_EQ(node.stepd.run_to_end().kind, EndKind::Completed) << node.stepd.log();
        EXPECT_EQ(node.folder.read("out"), "65000\nsocket\n");
        struct stat info {};
        ASSERT_EQ(::stat(node.folder.file("out").c_str(), &info), 0);
        EXPECT_EQ(info.st_uid, kStranger);
        EXPECT_EQ(info.st_mode & 0777, 0600U);
        std::string spool = node.folder.read("spool");
        spool.pop_back();
        EXPECT_NE(::access(spool.c_str(), F_OK), 0) << spool << " is gone at the end";
    }
}

TEST(OtherUser, RootDoesNotWriteThroughTheUsersPaths) {
    if (!is_root()) GTEST_SKIP() << "only root could";
    OneNode node;
    node.stepd.order_now().uid = node.stepd.order_now().gid = kStranger;
    ASSERT_EQ(::symlink("/etc/twinyard-test-must-not-be", node.folder.file("out").c_str()), 0);
    node.stepd.start("#!/bin/sh\necho hi\n");
    const model::Outcome outcome = node.stepd.run_to_end();
    EXPECT_EQ(outcome.signal, 53);
    EXPECT_NE(::access("/etc/twinyard-test-must-not-be", F_OK), 0);
}

TEST(Robust, FullDiskFailsTheJobOnly) {
    OneNode node;
    node.stepd.order_now().launch.std_out = "/dev/full";
    node.stepd.start("#!/bin/sh\necho hi || exit 6\n");
    EXPECT_EQ(node.stepd.run_to_end().exit_code, 6);
}

TEST(Robust, ProcessesThatForkOnAndHearNothingAreGone) {
    OneNode node;
    node.stepd.start(
        "#!/bin/sh\n"
        "cat > forker <<'EOF'\n"
        "trap '' TERM HUP INT\n"
        "echo $$ >> pids\n"
        "[ $(wc -l < pids) -gt 20 ] && exec sleep 1000\n"
        "setsid sh ./forker &\n"
        "exec sleep 1000\n"
        "EOF\n"
        "sh ./forker &\n"
        "while [ $(cat pids 2>/dev/null | wc -l) -lt 20 ]; do sleep 0.02; done\n"
        "exit 2\n");
    EXPECT_EQ(node.stepd.run_to_end().exit_code, 2);
    const std::string pids = node.folder.read("pids");
    for (std::size_t at = 0; at < pids.size(); at = pids.find('\n', at) + 1) {
        const auto stat = os::process_stat(std::atoi(pids.c_str() + at));
        EXPECT_TRUE(!stat || stat->dead());
    }
}

TEST(Robust, MemoryLimitEndsAsOutOfMemory) {
    const auto factory = os::detect_containers("twinyard_steptest_probe");
    ASSERT_TRUE(factory.has_value());
    const bool limits = (*factory)->limits_memory();
    EXPECT_TRUE((*factory)->remove_base().has_value());
    if (!limits) GTEST_SKIP() << "no memory limits here: " << (*factory)->describe();
    OneNode node;
    node.stepd.order_now().grant.memory_bytes = std::int64_t{48} << 20;
    // tail holds the last line, which is all of it.
    node.stepd.start("#!/bin/sh\nhead -c 300000000 /dev/zero | tail -n 1 > /dev/null\n");
    const model::Outcome outcome = node.stepd.run_to_end();
    EXPECT_EQ(outcome.kind, EndKind::OutOfMemory) << node.folder.read("out");
    EXPECT_THAT(node.folder.read("out"), testing::HasSubstr("oom_kill event in StepId=17.batch."));
}

TEST(OtherUser, TheDaemonsFolderIsClosedToUsers) {
    if (!is_root()) GTEST_SKIP() << "needs two users";
    OneNode node;
    node.stepd.start("#!/bin/sh\necho hi\n");
    ASSERT_TRUE(node.stepd.wait_phase(api::Phase::Ready));
    const os::Identity who{.uid = kStranger, .gid = kStranger, .groups = {kStranger}};
    EXPECT_FALSE(os::open_as_user(who, node.stepd.dir() + "/launch", O_RDONLY).has_value());
    node.stepd.order(api::Stage::Stop, api::StopReason::Shutdown);
    EXPECT_TRUE(node.stepd.wait_phase(api::Phase::Ended));
}

TEST(HostName, NodeNamesResolveInTheJob) {
    if (os::probe_namespaces().mode == os::NamespaceMode::Impossible) {
        GTEST_SKIP() << os::probe_namespaces().reason;
    }
    OneNode node;
    node.stepd.node_hostname = true;
    ASSERT_TRUE(os::write_file_atomic(node.folder.file("node_n1/hosts"), "n1 n7\n", 0644));
    node.stepd.start("#!/bin/sh\nhostname; getent hosts n7 | cut -d' ' -f1\n");
    EXPECT_EQ(node.stepd.run_to_end().kind, EndKind::Completed);
    EXPECT_EQ(node.folder.read("out"), "n1\n127.0.0.1\n");
}

}  // namespace
}  // namespace twinyard::step
