// What a node says to the controller: all of it after a connection, then what changed, each until
// it is acknowledged; an end until it is forgotten.
#include <utility>

#include "agent/core/node_core.h"
#include "base/check.h"

namespace twinyard::agent {
namespace {

/// Of one report: a report is one message.
constexpr std::size_t kStepsMax = 256;

}  // namespace

void NodeCore::on_connection() {
    on_failed();
    welcomed_ = false;
    full_wanted_ = true;
    expected_digest_ = digest_;
}

bool NodeCore::has_news() const {
    if (!welcomed_ || in_flight_) return false;
    return full_wanted_ || digest_wanted_ || !news_.empty() || !step_news_.empty();
}

api::NodeReport NodeCore::take_report() {
    CHECK(!in_flight_);
    in_flight_ = true;
    api::NodeReport report;
    report.name = name_;
    report.digest = digest_;
    report.full = full_said_ = std::exchange(full_wanted_, false);
    digest_wanted_ = false;
    take_steps(report);
    said_ = std::exchange(news_, {});
    if (report.full) {
        for (const auto& [key, launch] : launches_)
            report.runs.push_back(launch.seen);
        return report;
    }
    for (const api::LaunchKey& key : said_)
        report.runs.push_back(launches_.at(key).seen);
    return report;
}

void NodeCore::take_steps(api::NodeReport& report) {
    while (!step_news_.empty() && report.steps.size() < kStepsMax) {
        const StepName name = *step_news_.begin();
        step_news_.erase(step_news_.begin());
        const api::StepRecord& record = launches_.at(name.first).steps.at(name.second);
        report.steps.push_back(record);
        steps_said_.emplace_back(name, record);
    }
}

void NodeCore::on_acked() {
    in_flight_ = false;
    full_said_ = false;
    said_.clear();
    steps_said_.clear();
}

void NodeCore::on_failed() {
    if (!std::exchange(in_flight_, false)) return;
    full_wanted_ |= std::exchange(full_said_, false);
    digest_wanted_ = true;
    news_.merge(said_);
    said_.clear();
    for (const auto& [name, record] : steps_said_) {
        if (launches_.contains(name.first)) step_news_.insert(name);
    }
    steps_said_.clear();
}

void NodeCore::repeat() {
    if (in_flight_) return;
    news_.insert(ended_.begin(), ended_.end());
    if (disagrees()) say_digest();
}

}  // namespace twinyard::agent
