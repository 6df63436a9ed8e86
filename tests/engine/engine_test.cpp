// Runs tests/engine/*.test. A file holds cases: "=== name", the cluster in the notation of
// model/testing.h, "---", then what the engine says: starts, reservations, verdicts, and predicted
// starts where the case has a line "forecast".
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/hostlist.h"
#include "model/testing.h"
#include "sched/forecast.h"
#include "sched/plan.h"

namespace twinyard::sched {
namespace {

using model::testing::ClusterText;

struct Case {
    std::string name, input, want;
};

std::vector<Case> read_cases(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::vector<Case> cases;
    bool expected = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("=== ")) {
            cases.push_back(Case{line.substr(4), {}, {}});
            expected = false;
        } else if (line == "---") {
            expected = true;
        } else if (!cases.empty()) {
            (expected ? cases.back().want : cases.back().input) += line + "\n";
        }
    }
    for (Case& each : cases) {
        while (each.want.ends_with("\n\n"))
            each.want.pop_back();
    }
    return cases;
}

void write_cases(const std::filesystem::path& path, const std::vector<Case>& cases) {
    std::ofstream out(path);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        out << (i == 0 ? "" : "\n") << "=== " << cases[i].name << "\n"
            << cases[i].input << "---\n"
            << cases[i].want;
    }
}

std::string name_of(const model::Snapshot& snapshot, model::NodeId id) {
    return model::find(snapshot, id)->name;
}

std::string in_words(Millis span) {
    std::int64_t seconds = span.count() / 1000;
    if (seconds == 0) return "now";
    std::string text = "in";
    const std::pair<std::int64_t, const char*> units[] = {
        {86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    for (const auto& [length, unit] : units) {
        if (seconds >= length) text += " " + std::to_string(seconds / length) + unit;
        seconds %= length;
    }
    return text;
}

/// "n1: 2 members, 2 cpu, 1024 MiB, devices 0 1"
std::string grant_text(const model::Snapshot& snapshot, const model::PlannedGrant& grant) {
    std::string text = "  " + name_of(snapshot, grant.node);
    if (grant.group > 0) text += " group " + std::to_string(grant.group);
    text += ": members " + std::to_string(grant.first_member) + "+" +
            std::to_string(grant.member_count) + ", " + std::to_string(grant.cpu_milli) + "m cpu";
    if (grant.memory_bytes > 0) text += ", " + std::to_string(grant.memory_bytes >> 20) + " MiB";
    if (!grant.devices.empty()) text += ", devices";
    for (const std::uint16_t device : grant.devices)
        text += " " + std::to_string(device);
    return text + "\n";
}

/// Equal grants of many nodes are one line.
std::string start_text(const model::Snapshot& snapshot, const model::PlannedStart& start) {
    std::string text = "start " + std::to_string(start.workload.value()) + " in " + start.partition;
    if (start.grants.size() <= 4) {
        text += "\n";
        for (const model::PlannedGrant& grant : start.grants)
            text += grant_text(snapshot, grant);
        return text;
    }
    std::vector<std::string> nodes;
    for (const model::PlannedGrant& grant : start.grants)
        nodes.push_back(name_of(snapshot, grant.node));
    return text + " on " + fold_hostlist(nodes) + "\n";
}

std::string plan_text(const model::Snapshot& snapshot, const model::Plan& plan) {
    std::string text;
    for (const model::PlannedStart& start : plan.starts)
        text += start_text(snapshot, start);
    for (const model::ReservedStart& reserved : plan.reserved) {
        std::vector<std::string> nodes;
        for (const model::NodeId id : reserved.nodes)
            nodes.push_back(name_of(snapshot, id));
        text += "reserve " + std::to_string(reserved.workload.value()) + " " +
                in_words(reserved.start - ClusterText::kNow) + " on " + fold_hostlist(nodes) + "\n";
    }
    const char* const words[] = {"None",
                                 "Resources",
                                 "Priority",
                                 "NeverFits",
                                 "PartitionNodes",
                                 "PartitionTime",
                                 "PartitionDown",
                                 "PartitionInactive",
                                 "NodesUnavailable",
                                 "Held",
                                 "HeldByAdmin",
                                 "BeginTime",
                                 "BackOff",
                                 "EndlessHolders",
                                 "Unsupported",
                                 "Dependency"};
    for (const auto& [id, verdict] : plan.verdicts) {
        text += "wait " + std::to_string(id.value()) + " " +
                words[static_cast<std::size_t>(verdict->wait)] + ": " + verdict->text + "\n";
        if (!verdict->nodes.empty()) text += "  nodes " + fold_hostlist(verdict->nodes) + "\n";
    }
    return text;
}

std::string forecast_text(const model::Forecast& forecast) {
    std::string text;
    for (const auto& [id, start] : forecast.starts) {
        text += "predict " + std::to_string(id.value()) + " " +
                (start ? in_words(*start - forecast.at) : std::string("never")) + "\n";
    }
    return text;
}

std::string answer(const std::string& input) {
    std::string cluster;
    bool wants_forecast = false;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
        if (line == "forecast") {
            wants_forecast = true;
        } else {
            cluster += line + "\n";
        }
    }
    const model::Snapshot snapshot = ClusterText::read(cluster);
    const Index index = Index::build(snapshot);
    const model::PriorityPolicy& policy = snapshot.config->priority;
    const auto now = ClusterText::kNow;
    const auto wall = ClusterText::kWall;
    std::string text = plan_text(snapshot, plan(index, now, wall, policy));
    if (wants_forecast) text += forecast_text(forecast(index, now, wall, policy));
    return text;
}

TEST(Engine, TextCases) {
    const bool update = std::getenv("TWINYARD_UPDATE") != nullptr;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(TWINYARD_ENGINE_CASES)) {
        if (entry.path().extension() == ".test") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    EXPECT_FALSE(files.empty());
    for (const std::filesystem::path& path : files) {
        std::vector<Case> cases = read_cases(path);
        for (Case& each : cases) {
            const std::string got = answer(each.input);
            if (!update) {
                EXPECT_EQ(got, each.want) << path.filename() << ": " << each.name;
            }
            each.want = got;
        }
        if (update) write_cases(path, cases);
    }
}

}  // namespace
}  // namespace twinyard::sched
