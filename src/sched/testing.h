#pragma once

// For tests only: a cluster that lives. Plans are applied through the ledger, work ends when it is
// told to, and the index follows by change sets.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/ledger.h"
#include "model/testing.h"
#include "sched/index.h"
#include "sched/plan.h"

namespace twinyard::sched::testing {

/// The same numbers on every machine.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
    /// 0 … sides-1.
    std::uint32_t roll(std::uint32_t sides) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>((state_ >> 11) % sides);
    }
    bool once_in(std::uint32_t sides) { return roll(sides) == 0; }

  private:
    std::uint64_t state_;
};

class Yard {
  public:
    explicit Yard(const std::string& text)
        : now(model::testing::ClusterText::kNow),
          snapshot(model::testing::ClusterText::read(text)),
          index(Index::build(snapshot)) {}

    void put(model::WorkloadId id, model::WorkloadPtr workload) {
        if (workload == nullptr) {
            snapshot.workloads.erase(id.value());
        } else {
            snapshot.workloads.put(id.value(), workload);
        }
        changes_.changes.emplace_back(model::WorkloadChange{id, std::move(workload)});
    }

    void put(const model::NodePtr& node) {
        snapshot.nodes.put(node->id.value(), node);
        changes_.changes.emplace_back(model::NodeChange{node->id, node});
    }

    void put(model::ClusterConfigPtr config) {
        snapshot.config = config;
        changes_.changes.emplace_back(model::ConfigChange{std::move(config)});
    }

    /// Hands all changes since the last call to the index.
    void follow() {
        changes_.revision = ++snapshot.revision;
        index.advance(changes_, snapshot);
        changes_.changes.clear();
    }

    void submit(std::uint64_t id, model::WorkloadSpec spec) {
        auto workload = std::make_shared<model::Workload>();
        workload->id = model::WorkloadId{id};
        workload->job = model::JobId{static_cast<std::uint32_t>(id)};
        workload->revision = snapshot.revision + 1;
        workload->spec = std::make_shared<const model::WorkloadSpec>(std::move(spec));
        workload->status.submitted = workload->status.eligible = now;
        put(model::WorkloadId{id}, std::move(workload));
    }

    /// As the controller does: each start whole, or refused by the ledger.
    [[nodiscard]] bool apply(const model::PlannedStart& start) {
        const model::Workload& pending = *model::find(snapshot, start.workload);
        IdMap<model::NodeUse> uses = snapshot.uses;
        auto placement = std::make_shared<model::Placement>();
        placement->partition = start.partition;
        for (const model::PlannedGrant& planned : start.grants) {
            const model::Node& node = *model::find(snapshot, planned.node);
            const model::NodeUse* known = uses.find(planned.node.value());
            model::NodeUse use = known == nullptr ? model::NodeUse{} : *known;
            if (!model::is_schedulable(node)) return false;
            if (!model::covers(node, use, planned, *pending.spec)) return false;
            placement->grants.push_back(model::settle(node, use, planned, *pending.spec));
            model::take(use, placement->grants.back(), *pending.spec);
            uses.put(planned.node.value(), std::move(use));
        }
        snapshot.uses = uses;
        auto running = std::make_shared<model::Workload>(pending);
        ++running->revision;
        running->status.state = model::WorkloadState::Running;
        running->status.started = now;
        running->status.runs.resize(placement->grants.size());
        running->placement = std::move(placement);
        put(start.workload, std::move(running));
        return true;
    }

    void finish(model::WorkloadId id) {
        const model::WorkloadPtr workload = *snapshot.workloads.find(id.value());
        for (const model::NodeGrant& grant : workload->placement->grants) {
            model::NodeUse use = *snapshot.uses.find(grant.node.value());
            model::give_back(use, grant, *workload->spec);
            snapshot.uses.put(grant.node.value(), std::move(use));
        }
        put(id, nullptr);
    }

    [[nodiscard]] model::Plan pass() const {
        const WallTime wall =
            model::testing::ClusterText::kWall + (now - model::testing::ClusterText::kNow);
        return plan(index, now, wall, snapshot.config->priority);
    }

    ClusterTime now;
    model::Snapshot snapshot;
    Index index;

  private:
    model::ChangeSet changes_;
};

}  // namespace twinyard::sched::testing
