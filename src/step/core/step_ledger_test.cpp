#include "step/core/step_ledger.h"

#include <gtest/gtest.h>

#include "step/core/words.h"

namespace twinyard::step {
namespace {

using Counts = std::vector<std::uint32_t>;

/// Nodes n1, n2 … with so many cpus each.
std::vector<NodeRoom> rooms(const Counts& cpus, std::uint32_t devices = 0) {
    std::vector<NodeRoom> out;
    for (const std::uint32_t count : cpus) {
        NodeRoom room{.name = "n" + std::to_string(out.size() + 1), .cpus_granted = count};
        for (std::uint16_t i = 0; i < count; ++i)
            room.cpus.push_back(i);
        for (std::uint16_t i = 0; i < devices; ++i)
            room.devices.push_back(i);
        out.push_back(std::move(room));
    }
    return out;
}

TEST(LayOut, TasksOnNodes) {
    const struct {
        const char* name;
        StepNeed need;
        Counts cpus, want_nodes, want_tasks;
    } cases[] = {
        {"nothing said: one a node", {}, {4, 4}, {0, 1}, {1, 1}},
        {"-n1: one node", {.ntasks = 1}, {4, 4}, {0}, {1}},
        {"-n2: cyclic", {.ntasks = 2}, {4, 4}, {0, 1}, {1, 1}},
        {"-n6: block", {.ntasks = 6}, {4, 4}, {0, 1}, {4, 2}},
        {"-N1 -n3", {.nodes_min = 1, .ntasks = 3}, {4, 4}, {0}, {3}},
        {"-N2: one a node", {.nodes_min = 2, .job_ntasks = 8}, {4, 4, 4}, {0, 1}, {1, 1}},
        {"the job's tasks", {.job_ntasks = 4}, {4, 4}, {0, 1}, {2, 2}},
        {"--ntasks-per-node", {.ntasks_per_node = 2}, {4, 4}, {0, 1}, {2, 2}},
        {"both", {.ntasks = 3, .ntasks_per_node = 2}, {4, 4}, {0, 1}, {2, 1}},
        {"-c2", {.ntasks = 3, .cpus_per_task = 2}, {4, 4}, {0, 1}, {2, 1}},
        {"-w", {.only = {"n2"}}, {4, 4}, {1}, {1}},
        {"-x", {.ntasks = 2, .without = {"n1"}}, {4, 4}, {1}, {2}},
    };
    for (const auto& c : cases) {
        const auto places = lay_out(c.need, rooms(c.cpus), {2, 2});
        ASSERT_TRUE(places.has_value()) << c.name << ": " << places.error().text;
        Counts nodes;
        Counts tasks;
        std::uint32_t first = 0;
        for (const StepPlace& place : *places) {
            nodes.push_back(place.node);
            tasks.push_back(place.tasks);
            EXPECT_EQ(place.first_task, first) << c.name;
            first += place.tasks;
        }
        EXPECT_EQ(nodes, c.want_nodes) << c.name;
        EXPECT_EQ(tasks, c.want_tasks) << c.name;
    }
}

TEST(LayOut, Refusals) {
    const struct {
        StepNeed need;
        const char* want;
    } cases[] = {
        {{.ntasks = 9}, "More processors requested than permitted"},
        {{.cpus_per_task = 5}, "More processors requested than permitted"},
        {{.nodes_min = 3}, "Requested node configuration is not available"},
        {{.only = {"n9"}}, "Requested node configuration is not available"},
        {{.devices = {.kind = DeviceNeed::Kind::PerNode, .count = 3}},
         "Invalid generic resource (gres) specification"},
        {{.devices = {.kind = DeviceNeed::Kind::Total, .count = 5}},
         "Invalid generic resource (gres) specification"},
    };
    for (const auto& c : cases) {
        const auto places = lay_out(c.need, rooms({4, 4}, 2), {1, 1});
        ASSERT_FALSE(places.has_value()) << c.want;
        EXPECT_EQ(places.error().text, c.want);
    }
}

TEST(LayOut, Devices) {
    using DK = DeviceNeed::Kind;
    const struct {
        DeviceNeed need;
        Counts want;
    } cases[] = {
        {{}, {4, 4}},
        {{.kind = DK::PerNode, .count = 1}, {1, 1}},
        {{.kind = DK::PerNode, .count = 0}, {0, 0}},
        {{.kind = DK::Total, .count = 5}, {4, 1}},
        {{.kind = DK::PerTask, .count = 2}, {4, 2}},
    };
    for (const auto& c : cases) {
        const auto places = lay_out({.ntasks = 3, .devices = c.need}, rooms({2, 2}, 4), {1, 1});
        ASSERT_TRUE(places.has_value());
        Counts got;
        for (const StepPlace& place : *places)
            got.push_back(static_cast<std::uint32_t>(place.devices.size()));
        EXPECT_EQ(got, c.want);
    }
}

StepLedger one_node(std::uint32_t cpus, std::uint32_t devices = 0) {
    return StepLedger({{.name = "n1", .cpus = cpus, .devices = devices, .tasks = 1}}, 0);
}

std::uint32_t step_of(const StepAnswer& answer) {
    return std::get<StepGrant>(answer).step;
}

TEST(StepLedger, WithoutExactStepsRunOneAfterTheOther) {
    StepLedger ledger = one_node(4);
    EXPECT_EQ(step_of(ledger.ask(1, {.ntasks = 1})), 0U);
    EXPECT_TRUE(std::holds_alternative<StepWaits>(ledger.ask(2, {.ntasks = 1})));
    EXPECT_TRUE(std::holds_alternative<StepWaits>(ledger.ask(3, {.ntasks = 1})));
    EXPECT_EQ(step_of(ledger.ask(4, {.ntasks = 1, .overlap = true})), 1U);
    EXPECT_TRUE(ledger.start_waiting().empty());
    ledger.withdraw(2);
    ledger.give_back(0);
    const auto started = ledger.start_waiting();
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(started[0].ticket, 3U);
    EXPECT_EQ(started[0].step, 2U);
    EXPECT_EQ(ledger.next_step(), 3U);
}

TEST(StepLedger, ExactStepsShareCpusButNotTheJobsDevices) {
    StepLedger ledger = one_node(4, 2);
    StepNeed exact{.ntasks = 1, .cpus_per_task = 2, .exact = true};
    EXPECT_EQ(step_of(ledger.ask(1, exact)), 0U);
    EXPECT_TRUE(std::holds_alternative<StepWaits>(ledger.ask(2, exact))) << "all devices are taken";
    StepNeed none = exact;
    none.devices = {.kind = DeviceNeed::Kind::PerNode, .count = 0};
    const StepAnswer beside = ledger.ask(3, none);
    EXPECT_EQ(step_of(beside), 1U);
    EXPECT_EQ(std::get<StepGrant>(beside).places[0].cpus, (std::vector<std::uint16_t>{2, 3}));
}

TEST(StepLedger, OneThatDoesNotFitHoldsUpNobody) {
    StepLedger ledger = one_node(4);
    EXPECT_EQ(step_of(ledger.ask(1, {.ntasks = 2, .exact = true})), 0U);
    EXPECT_TRUE(std::holds_alternative<StepWaits>(ledger.ask(2, {.ntasks = 4, .exact = true})));
    EXPECT_EQ(step_of(ledger.ask(3, {.ntasks = 2, .exact = true})), 1U);
}

TEST(StepLedger, LimitsAndNumbers) {
    StepLedger ledger = one_node(1);
    EXPECT_EQ(step_of(ledger.ask(0, {})), 0U);
    for (std::uint64_t i = 1; i <= StepLedger::kWaitingMax; ++i)
        EXPECT_TRUE(std::holds_alternative<StepWaits>(ledger.ask(i, {})));
    EXPECT_TRUE(std::holds_alternative<StepRefusal>(ledger.ask(5'000, {})));
    StepLedger late({{.name = "n1", .cpus = 1}}, 64);
    EXPECT_EQ(step_of(late.ask(1, {})), 64U) << "numbers go on after a restart";
    StepLedger full({{.name = "n1", .cpus = 1}}, StepLedger::kStepsMax);
    EXPECT_TRUE(std::holds_alternative<StepRefusal>(full.ask(1, {})));
}

TEST(Words, Lines) {
    const auto line = [](api::StopReason reason) {
        return ending_line("JOB 17", "n1", "2026-12-01T10:00:00", reason);
    };
    EXPECT_EQ(line(api::StopReason::Cancelled),
              "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-12-01T10:00:00 DUE to SIGNAL "
              "Terminated ***\n");
    EXPECT_TRUE(line(api::StopReason::TimeLimit).ends_with(" DUE TO TIME LIMIT ***\n"));
    EXPECT_TRUE(line(api::StopReason::Preempted).ends_with(" DUE TO PREEMPTION ***\n"));
    EXPECT_TRUE(line(api::StopReason::Shutdown).ends_with(" DUE TO JOB REQUEUE ***\n"));
    EXPECT_TRUE(line(api::StopReason::NodeDown).ends_with(" DUE TO NODE FAILURE ***\n"));
    EXPECT_EQ(oom_line(2, "17.batch"),
              "slurmstepd: error: Detected 2 oom_kill event in StepId=17.batch. Some of the step "
              "tasks have been OOM Killed.\n");
}

}  // namespace
}  // namespace twinyard::step
