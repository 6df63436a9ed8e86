#include <gtest/gtest.h>

#include <csignal>

#include "cli/job_testing.h"

namespace twinyard::cli {
namespace {

using job_testing::FakeCluster;
using job_testing::Ran;
using job_testing::test_environment;

Ran scancel(std::string_view line, FakeCluster& cluster) {
    return job_testing::run(run_scancel, line, test_environment(), cluster);
}

api::CancelRequest request_of(const std::string& line) {
    FakeCluster cluster;
    const Ran ran = scancel("scancel " + line, cluster);
    EXPECT_EQ(ran.exit, kOk) << line << ": " << ran.err;
    return cluster.cancelled.empty() ? api::CancelRequest{} : cluster.cancelled.front();
}

TEST(Scancel, FiltersReachTheRequest) {
    using T = api::JobTargets;
    using V = std::vector<std::string>;
    const struct {
        const char* line;
        bool (*want)(const T&);
    } cases[] = {
        {"17 18,19",
         [](const T& t) {
             return t.jobs == std::vector<std::uint32_t>{17, 18, 19};
         }},
        {"-A phys", [](const T& t) { return t.accounts == V{"phys"}; }},
        {"-n a,b",
         [](const T& t) {
             return t.names == V{"a", "b"};
         }},
        {"--jobname=a", [](const T& t) { return t.names == V{"a"}; }},
        {"--me", [](const T& t) { return t.uids == std::vector<std::uint32_t>{1000}; }},
        {"-u bob", [](const T& t) { return t.uids == std::vector<std::uint32_t>{1001}; }},
        {"-w n1", [](const T& t) { return t.nodes == V{"n1"}; }},
        {"-p main", [](const T& t) { return t.partitions == V{"main"}; }},
        {"-q high", [](const T& t) { return t.qos == V{"high"}; }},
        {"-t pd --me", [](const T& t) { return t.states == V{"PENDING"}; }},
    };
    for (const auto& c : cases)
        EXPECT_TRUE(c.want(request_of(c.line).targets)) << c.line;
}

TEST(Scancel, Signals) {
    using enum api::SignalScope;
    const struct {
        const char* line;
        std::optional<std::int32_t> signal;
        api::SignalScope scope;
    } cases[] = {
        {"17", std::nullopt, Steps},
        {"-s USR1 17", SIGUSR1, Steps},
        {"--signal=SIGTERM 17", SIGTERM, Steps},
        {"17 --signal USR2", SIGUSR2, Steps},
        {"-s 10 -b 17", 10, BatchShell},
        {"-b 17", SIGKILL, BatchShell},
        {"-f -s HUP 17", SIGHUP, All},
        {"-f 17", std::nullopt, All},
    };
    for (const auto& c : cases) {
        const api::CancelRequest request = request_of(c.line);
        EXPECT_EQ(request.signal, c.signal) << c.line;
        EXPECT_EQ(request.scope, c.scope) << c.line;
    }
}

TEST(Scancel, BadInput) {
    const struct {
        const char* line;
        const char* want;
    } cases[] = {
        {"scancel", "scancel: error: No job identification provided\n"},
        {"scancel abc", "scancel: error: Invalid job id abc\n"},
        {"scancel 0", "scancel: error: Invalid job id 0\n"},
        {"scancel -u nosuch", "scancel: error: Invalid user name: nosuch\n"},
        {"scancel -s FOO 3", "scancel: error: Unknown job signal: FOO\n"},
        {"scancel -t bad",
         "scancel: error: Invalid job state specified: bad\n"
         "scancel: error: Valid job states are PENDING, RUNNING, and SUSPENDED\n"},
        {"scancel 17_3", "scancel: error: 17_3: job arrays are not built yet\n"},
    };
    for (const auto& c : cases) {
        FakeCluster cluster;
        const Ran ran = scancel(c.line, cluster);
        EXPECT_EQ(ran.err, c.want) << c.line;
        EXPECT_EQ(ran.exit, kFailed) << c.line;
        EXPECT_TRUE(cluster.cancelled.empty()) << c.line;
    }
}

TEST(Scancel, UnknownJobIsSilent) {
    FakeCluster cluster;
    cluster.cancel_answer.entries = {{17, "Invalid job id specified"}};
    const Ran ran = scancel("scancel 17", cluster);
    EXPECT_EQ(ran.exit, kOk);
    EXPECT_EQ(ran.out + ran.err, "");
}

TEST(Scancel, DeniedJobFails) {
    FakeCluster cluster;
    cluster.cancel_answer.entries = {{16, ""}, {17, "Access/permission denied"}};
    const Ran ran = scancel("scancel 16 17", cluster);
    EXPECT_EQ(ran.exit, kFailed);
    EXPECT_EQ(ran.err, "scancel: error: Kill job error on job id 17: Access/permission denied\n");
}

TEST(Scancel, FinishedJobs) {
    FakeCluster cluster;
    cluster.cancel_answer.entries = {{17, "Job/step already completing or completed"}};
    const std::string said =
        "scancel: error: Kill job error on job id 17: Job/step already completing or completed\n";
    EXPECT_EQ(scancel("scancel 17", cluster).err, "");
    EXPECT_EQ(scancel("scancel -v 17", cluster).err, said);
    EXPECT_EQ(scancel("scancel -v --quiet 17", cluster).err, "");
    EXPECT_EQ(scancel("scancel -v 17", cluster).exit, kOk);
}

TEST(Scancel, Interactive) {
    Environment environment = test_environment();
    environment.read_file = [](const std::string&, std::size_t) -> Result<std::string> {
        return std::string("n\ny\n");
    };
    FakeCluster cluster;
    api::JobRow first{.job = 16};
    api::JobRow second{.job = 17};
    first.name = second.name = "train";
    first.partition = second.partition = "main";
    cluster.job_answers = {{first, second}};
    const Ran ran = job_testing::run(run_scancel, "scancel -i --me", environment, cluster);
    EXPECT_EQ(ran.out,
              "Cancel job_id=16 name=train partition=main [y/n]? "
              "Cancel job_id=17 name=train partition=main [y/n]? \n");
    EXPECT_EQ(cluster.cancelled.at(0).targets.jobs, std::vector<std::uint32_t>{17});
}

}  // namespace
}  // namespace twinyard::cli
