#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "os/boot_clock.h"
#include "os/inventory.h"
#include "os/linux/testing.h"
#include "os/namespaces.h"
#include "os/process_id.h"
#include "os/spawn.h"
#include "os/users.h"

namespace twinyard::os {
namespace {

TEST(BootClock, GoesOn) {
    const Millis first = boot_now();
    EXPECT_GT(first, Millis(0));
    EXPECT_GE(boot_now(), first);
    EXPECT_GT(wall_now().time_since_epoch(), std::chrono::hours(24 * 365 * 50));
}

TEST(ProcessIds, TellAProcessFromALaterOne) {
    const TestFolder folder;
    const ProcessId own = own_process_id();
    EXPECT_TRUE(is_alive(own));
    EXPECT_FALSE(is_alive({own.pid, own.start_time + 1}));
    EXPECT_FALSE(is_alive({}));
    EXPECT_EQ(send_signal({own.pid, own.start_time + 1}, SIGKILL).error().code(),
              ErrorCode::NotFound);
    EXPECT_EQ(send_signal({1, 0}, SIGKILL).error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(send_signal_to_group(0, SIGKILL).error().code(), ErrorCode::InvalidArgument);

    SpawnRequest request;
    request.argv = {TWINYARD_VICTIM, "ignore-term", folder.path()};
    const ProcessId child = spawn(request).value();
    EXPECT_TRUE(is_alive(child));
    EXPECT_TRUE(send_signal(child, SIGKILL).has_value());
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(is_alive(child)) << "a zombie is not alive";
    EXPECT_EQ(wait_for(child.pid).value().signal, SIGKILL);
}

TEST(ProcessIds, PidFileComesBack) {
    const TestFolder folder;
    const std::string path = folder.file("pid");
    const ProcessId own = own_process_id();
    EXPECT_EQ(read_pid_file(path).error().code(), ErrorCode::NotFound);
    ASSERT_TRUE(write_pid_file(path, own).has_value());
    EXPECT_EQ(read_pid_file(path).value(), own);
    ASSERT_TRUE(write_file_atomic(path, "12 34 another-boot\n").has_value());
    EXPECT_FALSE(is_alive(read_pid_file(path).value()));
    ASSERT_TRUE(write_file_atomic(path, "nonsense").has_value());
    EXPECT_EQ(read_pid_file(path).error().code(), ErrorCode::Corrupt);
}

TEST(Users, AreNamed) {
    const User root = user_by_uid(0).value();
    EXPECT_EQ(root.name, "root");
    EXPECT_EQ(user_by_name("root").value().uid, 0U);
    EXPECT_EQ(group_name(0), "root");
    EXPECT_EQ(gid_by_name("root").value(), 0U);
    EXPECT_EQ(user_name(kStranger), "65000");
    EXPECT_EQ(group_name(kStranger), "65000");
    EXPECT_EQ(user_by_uid(kStranger).error().code(), ErrorCode::NotFound);
    EXPECT_EQ(user_by_name("no such user").error().code(), ErrorCode::NotFound);
    EXPECT_EQ(groups_of(kStranger, 5).value(), (std::vector<gid_t>{5}));
    EXPECT_EQ(identity_of(0).value().gid, 0U);
    EXPECT_THAT(groups_of(0, 7).value(), testing::Contains(7U));
    EXPECT_THAT(login_environment(root),
                testing::IsSupersetOf(
                    {"HOME=" + root.home, std::string("USER=root"), std::string("LOGNAME=root")}));
}

TEST(Inventory, KnowsThisHost) {
    const HostInventory host = read_inventory({.nvml_library = "libno-such-nvml.so"}).value();
    EXPECT_FALSE(host.cpus.empty());
    EXPECT_FALSE(host.cores.empty());
    EXPECT_GE(host.cpus.size(), host.cores.size());
    EXPECT_GE(host.numa.size(), 1U);
    EXPECT_GT(host.memory_bytes, std::uint64_t{64} << 20);
    EXPECT_GT(host.tmp_disk_bytes, 0U);
    EXPECT_THAT(host.hostname, testing::Not(testing::HasSubstr(".")));
    EXPECT_THAT(host.kernel, testing::StartsWith("Linux "));
    EXPECT_FALSE(host.os_name.empty());
    EXPECT_TRUE(host.gpus.empty());
    EXPECT_EQ(host.gpu_note, "no NVIDIA driver");
    EXPECT_GT(read_host_load().memory_free_bytes, 0U);
}

TEST(Inventory, AsksNvml) {
    const HostInventory host = read_inventory({.nvml_library = TWINYARD_FAKE_NVML}).value();
    ASSERT_EQ(host.gpus.size(), 2U);
    EXPECT_EQ(host.gpu_note, "");
    const GpuInfo& gpu = host.gpus[1];
    EXPECT_EQ(gpu.index, 1);
    EXPECT_EQ(gpu.minor, 5);
    EXPECT_EQ(gpu.type, "h100");
    EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpu.uuid, "GPU-00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(gpu.pci, "00000000:1C:00.0");
    EXPECT_EQ(gpu.memory_bytes, std::uint64_t{80} << 30);
    EXPECT_EQ(gpu.nvlink_peers, (std::vector<int>{0, 0}));
}

TEST(Namespaces, GiveAJobItsOwnNames) {
    const NamespaceProbe probe = probe_namespaces();
    if (probe.mode == NamespaceMode::Impossible) {
        EXPECT_FALSE(probe.reason.empty());
        GTEST_SKIP() << "no namespaces here: " << probe.reason;
    }
    const TestFolder folder;
    ASSERT_TRUE(write_hosts_file(folder.file("hosts"), {"n1", "n2"}).has_value());
    ASSERT_TRUE(write_file_atomic(folder.file("source"), "bound", 0644).has_value());
    ASSERT_TRUE(write_file_atomic(folder.file("target"), "hidden", 0644).has_value());
    SpawnRequest request;
    request.argv = {"/bin/sh",
                    "-c",
                    "uname -n; getent hosts n2; id -u; cat " + folder.file("target") +
                        "; echo x 2>/dev/null > " + folder.file("target") + " || echo refused"};
    request.env = {"PATH=/usr/bin:/bin"};
    request.stdout_stream = PathStream{folder.file("out"), O_WRONLY | O_CREAT, 0666};
    request.namespaces.hostname = "n1";
    request.namespaces.hosts_file = folder.file("hosts");
    request.namespaces.mounts = {{folder.file("source"), folder.file("target"), true}};
    const uid_t uid = is_root() ? kStranger : ::getuid();
    if (is_root()) request.identity = Identity{kStranger, kStranger, {}};
    const auto started = spawn(request);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    wait_for(started->pid).value();
    EXPECT_EQ(read_file(folder.file("out")).value(),
              "n1\n127.0.0.1       n2\n" + std::to_string(uid) + "\nboundrefused\n");
    EXPECT_EQ(read_file(folder.file("target")).value(), "hidden");
    EXPECT_NE(read_inventory().value().hostname, "n1");
}

}  // namespace
}  // namespace twinyard::os
