#include "controller/core/invariants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "controller/core/derive.h"
#include "model/ledger.h"

namespace twinyard::controller {
namespace {

using model::MemberState;
using model::Workload;
using model::WorkloadState;
using Found = std::vector<std::string>;

std::string name(const Workload& workload) {
    return "workload " + std::to_string(workload.id.value());
}

/// From all placements anew: what is in use, and that nothing is held twice.
class Ledger {
  public:
    void book(const Workload& workload, const Active& active, Found& found) {
        model::NodeUse& use = uses_[active.node];
        take(use, *active.grant, *workload.spec);
        if (active.ending()) ++use.completing;
        for (const std::uint16_t cpu : active.grant->cpus)
            hold("cpu", active.node, cpu, workload, found);
        for (const std::uint16_t device : active.grant->devices)
            hold("device", active.node, device, workload, found);
    }

    void compare(const model::Snapshot& view, Found& found) const {
        for (const auto& [node, use] : uses_) {
            const model::NodeUse* kept = view.uses.find(node.value());
            if (kept == nullptr || !(*kept == use))
                found.push_back("use of node " + std::to_string(node.value()) + " is not the sum");
        }
        if (view.uses.size() != uses_.size()) found.emplace_back("a node without grants has a use");
    }

  private:
    void hold(const char* what,
              model::NodeId node,
              std::uint16_t index,
              const Workload& workload,
              Found& found) {
        const auto [place, fresh] =
            holders_.try_emplace({what, node.value(), index}, workload.id.value());
        if (fresh) return;
        found.push_back(std::string(what) + " " + std::to_string(index) + " of node " +
                        std::to_string(node.value()) + " is held by workloads " +
                        std::to_string(place->second) + " and " +
                        std::to_string(workload.id.value()));
    }

    std::map<model::NodeId, model::NodeUse> uses_;
    std::map<std::tuple<std::string, std::uint32_t, std::uint16_t>, std::uint64_t> holders_;
};

void check_workload(const Core::State& state, const Workload& workload, Found& found) {
    const model::WorkloadStatus& status = workload.status;
    const std::size_t grants =
        workload.placement == nullptr ? 0 : workload.placement->grants.size();
    if (status.runs.size() != grants) found.push_back(name(workload) + " has not a run a grant");
    if (holds_resources(status.state) && grants == 0)
        found.push_back(name(workload) + " runs without a placement");
    if (status.state == WorkloadState::Pending && grants != 0)
        found.push_back(name(workload) + " waits with a placement");
    if (grants != 0 && status.attempt == 0)
        found.push_back(name(workload) + " was placed without an attempt");
    for (const model::FencedGrant& fenced : status.fenced) {
        if (fenced.attempt > status.attempt)
            found.push_back(name(workload) + " has a fenced grant of the future");
    }
    const auto in = [&](auto... states) {
        return std::ranges::all_of(status.runs, [&](const model::MemberRun& run) {
            return ((run.state == states) || ...);
        });
    };
    const bool together = workload.spec->end_rule == model::EndRule::Together;
    if (status.state == WorkloadState::Running && together &&
        !in(MemberState::Ready, MemberState::Running))
        found.push_back(name(workload) + " runs without all of its gang");
    if (status.state == WorkloadState::Starting &&
        (in(MemberState::Ready, MemberState::Running) || in(MemberState::Ended)))
        found.push_back(name(workload) + " should have started");
    if (status.state == WorkloadState::Completing && in(MemberState::Ended, MemberState::Unknown))
        found.push_back(name(workload) + " should be done");
    for (const ContentHash* hash :
         {&workload.spec->launch.script, &workload.spec->launch.environment}) {
        const auto use = state.blobs.find(*hash);
        const bool there = use != state.blobs.end() && use->second.stored;
        if (!hash->empty() && !there) found.push_back(name(workload) + " has lost a blob");
    }
    if (workload.id.value() >= state.counters.next_workload)
        found.push_back(name(workload) + " is beyond the counter");
    if (workload.revision > state.counters.revision)
        found.push_back(name(workload) + " is newer than the revision");
}

void check_timer(const Core::State& state, const Workload& workload, Found& found) {
    const auto timer = state.timer_of.find(workload.id);
    const auto kept = timer == state.timer_of.end() ? std::nullopt : std::optional(timer->second);
    if (kept != due(state, workload)) found.push_back(name(workload) + " has a wrong timer");
}

void check_nodes(const Core::State& state, Found& found) {
    for (const auto& [id, runtime] : state.nodes) {
        if (runtime.digest && *runtime.digest != node_digest(state, id))
            found.push_back("node " + std::to_string(id.value()) + " has a stale digest");
        if (runtime.session == 0) continue;
        const auto session = state.sessions.find(runtime.session);
        if (session == state.sessions.end() || !session->second.contains(id))
            found.push_back("node " + std::to_string(id.value()) + " is of no session");
    }
}

}  // namespace

std::vector<std::string> check_invariants(const Core& core) {
    const Core::State& state = core.state();
    Found found;
    Ledger ledger;
    std::set<std::pair<model::NodeId, model::WorkloadId>> work;
    state.view.workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        check_workload(state, *workload, found);
        check_timer(state, *workload, found);
        for (const Active& active : actives(*state.view.config, *workload)) {
            ledger.book(*workload, active, found);
            work.emplace(active.node, workload->id);
        }
    });
    ledger.compare(state.view, found);
    std::size_t indexed = 0;
    for (const auto& [id, runtime] : state.nodes) {
        indexed += runtime.work.size();
        for (const model::WorkloadId workload : runtime.work) {
            if (!work.contains({id, workload}))
                found.push_back("node " + std::to_string(id.value()) + " lists work it has not");
        }
    }
    if (indexed != work.size()) found.emplace_back("work of a node is not listed there");
    check_nodes(state, found);
    return found;
}

std::string reload_difference(const Core& core,
                              const Settings& settings,
                              const Records& stored,
                              const api::Envelope& now) {
    std::string text = first_difference(core.records(), stored);
    if (!text.empty()) return "the store and memory: " + text;
    // Work that was cut off is begun again by the load, not in the middle.
    if (core.has_backlog()) return {};
    Result<Core> again = Core::load(settings, stored, now);
    if (!again) return again.error().message();
    (void)again->apply(api::Configure{core.snapshot().config}, now);
    const model::Snapshot a = core.snapshot(), b = again->snapshot();
    if (a.jobs.size() != b.jobs.size()) return "the job numbers differ";
    if (a.uses.size() != b.uses.size()) return "the uses of nodes differ";
    a.uses.for_each([&](std::uint64_t node, const model::NodeUse& use) {
        const model::NodeUse* other = b.uses.find(node);
        if (other == nullptr || !(*other == use))
            text = "the use of node " + std::to_string(node) + " differs";
    });
    return text;
}

}  // namespace twinyard::controller
