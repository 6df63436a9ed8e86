#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "os/linux/testing.h"
#include "os/process_container.h"
#include "os/spawn.h"

namespace twinyard::os {
namespace {

struct Mode {
    const char* name;
    ContainerOptions options;
};

void PrintTo(const Mode& mode, std::ostream* out) {
    *out << mode.name;
}

/// Processes whose command line names `folder`, looked up without the code under test.
int processes_naming(const std::string& folder) {
    int count = 0;
    for (const ProcessStat& process : all_processes()) {
        if (process.dead() || process.id.pid == ::getpid()) continue;
        const auto line = read_file("/proc/" + std::to_string(process.id.pid) + "/cmdline");
        if (line && line->find(folder) != std::string::npos) ++count;
    }
    return count;
}

bool has_entry(const std::string& folder) {
    const auto entries = std::filesystem::directory_iterator(folder);
    return begin(entries) != end(entries);
}

class Containers : public testing::TestWithParam<Mode> {
  protected:
    void SetUp() override {
        ASSERT_TRUE(become_subreaper().has_value());
        base_ = "twinyard_test_" + std::to_string(::getpid());
        auto factory = detect_containers(base_, GetParam().options);
        ASSERT_TRUE(factory.has_value()) << factory.error().message();
        factory_ = *std::move(factory);
        const bool cgroups = GetParam().options.cgroup_v1 || GetParam().options.cgroup_v2;
        if (cgroups && factory_->describe().starts_with("process groups")) {
            GTEST_SKIP() << "needs cgroups: " << factory_->describe();
        }
        RecordProperty("containers", factory_->describe());
        auto job = factory_->create("job_1", ::getpid());
        ASSERT_TRUE(job.has_value()) << job.error().message();
        job_ = *std::move(job);
        batch_ = *factory_->create("job_1/batch", 0);
        step_ = *factory_->create("job_1/step_0", 0);
    }

    void TearDown() override {
        if (!job_) return;
        EXPECT_TRUE(job_->kill_all(Millis(20000)).has_value());
        EXPECT_TRUE(job_->remove(Millis(20000)).has_value());
        EXPECT_TRUE(factory_->remove_base().has_value());
        while (reap_any()) {
        }
    }

    ProcessId start(ProcessContainer& container, std::vector<std::string> arguments) {
        SpawnRequest request;
        request.argv = std::move(arguments);
        request.argv.insert(request.argv.begin(), TWINYARD_VICTIM);
        request.env = {"PATH=/usr/bin:/bin", "TWINYARD_WORKLOAD=somebody/else"};
        request.container = &container;
        const auto started = spawn(request);
        EXPECT_TRUE(started.has_value()) << started.error().message;
        return started.value_or(ProcessId{});
    }

    /// Starts something that stays and waits until it is in place.
    void place(ProcessContainer& container, const std::string& mode) {
        const TestFolder sign;
        start(container, {mode, sign.path(), "20"});
        signs_.push_back(sign.path());
        EXPECT_TRUE(eventually([&] { return has_entry(sign.path()); }));
    }

    [[nodiscard]] int left() const {
        int count = 0;
        for (const std::string& sign : signs_)
            count += processes_naming(sign);
        return count;
    }

    std::string base_;
    std::unique_ptr<ContainerFactory> factory_;
    std::unique_ptr<ProcessContainer> job_;
    std::unique_ptr<ProcessContainer> batch_;
    std::unique_ptr<ProcessContainer> step_;
    std::vector<std::string> signs_;
};

TEST_P(Containers, KillAllLeavesNobody) {
    place(*batch_, "double-fork");
    place(*batch_, "hidden-daemon");
    place(*batch_, "ignore-term");
    place(*step_, "bomb");
    EXPECT_GE(left(), 4);
    const Status killed = job_->kill_all(Millis(20000));
    EXPECT_TRUE(killed.has_value()) << killed.error().message();
    EXPECT_EQ(left(), 0);
    EXPECT_THAT(job_->pids(), testing::IsEmpty());
}

TEST_P(Containers, KillAllCatchesARunner) {
    place(*batch_, "runner");
    const Status killed = job_->kill_all(Millis(20000));
    EXPECT_TRUE(killed.has_value()) << killed.error().message();
    // It never is where one looks, so look often.
    const auto seen = [this] {
        int most = 0;
        for (int look = 0; look < 20; ++look)
            most = std::max(most, left());
        return most;
    };
    // One that was just killed may still be on its way out of the kernel. Without cgroups a call
    // may also miss one that forks on and on; the next one gets it.
    const bool cgroups = GetParam().options.cgroup_v1 || GetParam().options.cgroup_v2;
    EXPECT_TRUE(eventually([&] {
        if (!cgroups) (void)job_->kill_all(Millis(20000));
        return seen() == 0;
    }));
}

TEST_P(Containers, KillsAFrozenOne) {
    place(*batch_, "ignore-term");
    ASSERT_TRUE(job_->freeze().has_value());
    EXPECT_TRUE(job_->kill_all(Millis(20000)).has_value());
    EXPECT_EQ(left(), 0);
}

TEST_P(Containers, AStepEndsWithoutItsJob) {
    place(*batch_, "ignore-term");
    place(*step_, "double-fork");
    EXPECT_EQ(job_->pids().size(), 2U);
    EXPECT_EQ(batch_->pids().size(), 1U);
    EXPECT_EQ(step_->pids().size(), 1U);
    EXPECT_TRUE(step_->kill_all(Millis(20000)).has_value());
    EXPECT_TRUE(step_->remove(Millis(20000)).has_value());
    EXPECT_EQ(left(), 1);
    EXPECT_EQ(job_->pids().size(), 1U);
}

TEST_P(Containers, SignalsReachAllButBindNobody) {
    place(*batch_, "double-fork");
    place(*batch_, "ignore-term");
    EXPECT_TRUE(job_->signal_all(SIGTERM).has_value());
    EXPECT_TRUE(eventually([&] { return job_->pids().size() == 1; }));
    EXPECT_EQ(left(), 1);
}

TEST_P(Containers, FrozenProcessesDoNothing) {
    place(*batch_, "ends-by-usr1");
    ASSERT_TRUE(job_->freeze().has_value());
    EXPECT_TRUE(job_->signal_all(SIGUSR1).has_value());
    EXPECT_EQ(job_->pids().size(), 1U);
    EXPECT_TRUE(job_->thaw().has_value());
    EXPECT_TRUE(eventually([&] { return job_->pids().empty(); }));
}

TEST_P(Containers, AreFoundAgainByAnotherDaemon) {
    place(*batch_, "double-fork");
    const auto other = detect_containers(base_, GetParam().options).value();
    EXPECT_THAT(other->existing(), testing::Contains("job_1"));
    const auto job = other->create("job_1", 0).value();
    EXPECT_EQ(job->pids(), job_->pids());
    EXPECT_TRUE(job->kill_all(Millis(20000)).has_value());
    EXPECT_EQ(left(), 0);
}

TEST_P(Containers, TakeInARunningProcess) {
    const TestFolder sign;
    SpawnRequest request;
    request.argv = {TWINYARD_VICTIM, "ignore-term", sign.path()};
    const ProcessId id = spawn(request).value();
    ASSERT_TRUE(step_->add_pid(id.pid).has_value());
    EXPECT_THAT(step_->pids(), testing::ElementsAre(id));
    EXPECT_THAT(job_->pids(), testing::ElementsAre(id));
}

TEST_P(Containers, CountProcessorTime) {
    const ProcessId id = start(*batch_, {"burn", "100"});
    EXPECT_EQ(wait_for(id.pid).value().code, 0);
    const ContainerUsage usage = job_->usage();
    if (!usage.complete) GTEST_SKIP() << "processes that ended are not counted without cgroups";
    EXPECT_GE(usage.cpu, Millis(60));
    EXPECT_EQ(usage.processes, 0);
}

TEST_P(Containers, LimitMemory) {
    if (!factory_->limits_memory()) {
        EXPECT_EQ(batch_->set_memory_limit(1 << 25).error().code(), ErrorCode::Unavailable);
        EXPECT_EQ(job_->oom_kills(), 0U);
        return;
    }
    ASSERT_TRUE(job_->set_memory_limit(64 << 20).has_value());
    ASSERT_TRUE(job_->set_memory_limit(32 << 20).has_value());
    ASSERT_TRUE(job_->set_memory_limit(48 << 20).has_value());
    const ProcessId id = start(*batch_, {"eat", "200"});
    EXPECT_EQ(wait_for(id.pid).value().signal, SIGKILL);
    EXPECT_EQ(job_->oom_kills(), 1U);
    EXPECT_EQ(step_->oom_kills(), 0U);
    EXPECT_GE(job_->usage().memory_peak_bytes, std::uint64_t{40 << 20});
}

TEST_P(Containers, LimitProcessors) {
    const std::vector<int> first = {0};
    if (!factory_->limits_cpus()) {
        EXPECT_EQ(job_->set_cpuset(first).error().code(), ErrorCode::Unavailable);
        return;
    }
    ASSERT_TRUE(step_->set_cpuset(first).has_value());
    place(*step_, "ignore-term");
    const std::string pid = std::to_string(step_->pids().at(0).pid);
    const std::string status = read_file("/proc/" + pid + "/status").value();
    EXPECT_NE(status.find("Cpus_allowed_list:\t0\n"), std::string::npos) << status;
}

TEST_P(Containers, RefuseBadNames) {
    for (const char* bad :
         {"", "..", "a/../b", "/a", "a/", "a//b", "a b", "_procs", "a\n", "job_1/."}) {
        EXPECT_FALSE(factory_->create(bad, 0).has_value()) << bad;
    }
    EXPECT_FALSE(detect_containers("a/b").has_value());
    EXPECT_FALSE(detect_containers("..").has_value());
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         Containers,
                         testing::Values(Mode{"v1", {.cgroup_v1 = true, .cgroup_v2 = false}},
                                         Mode{"v2", {.cgroup_v1 = false, .cgroup_v2 = true}},
                                         Mode{"both", {}},
                                         Mode{"none", {.cgroup_v1 = false, .cgroup_v2 = false}}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace twinyard::os
