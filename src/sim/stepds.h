#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/events.h"
#include "sim/world.h"

namespace twinyard::sim {

/// What launches all over the cluster have in common: who was started, who was ready.
struct Launches {
    std::set<std::pair<std::string, api::LaunchKey>> started;  ///< With the node's name.
    std::map<std::pair<model::WorkloadId, model::Attempt>, std::set<api::LaunchKey>> ready;
    /// Whose script really ended well.
    std::set<std::pair<model::WorkloadId, model::Attempt>> completed;
    std::uint64_t count = 0;
};

/// The step daemons and the users' processes of one agent's nodes. They live on without the agent;
/// a reboot ends them and leaves the exit records on disk. What they really do is what safety is
/// judged by.
class Stepds {
  public:
    using Launch = std::pair<agent::NodeIndex, api::LaunchKey>;

    /// `tell` takes what they say to the agent; while there is none, nobody hears it.
    Stepds(World& world,
           Launches& launches,
           std::vector<std::string> nodes,
           std::function<void(agent::Event)> tell)
        : world_(world), launches_(launches), nodes_(std::move(nodes)), tell_(std::move(tell)) {}

    void perform(const agent::Effect& effect);
    /// What a restarted agent does with exit records that its journal has forgotten: a crash came
    /// between the Forget and the removal.
    void sweep(const std::set<Launch>& known);
    void reboot();
    /// A new disk: the exit records are gone too.
    void wipe();
    [[nodiscard]] std::size_t running() const;
    [[nodiscard]] bool empty() const { return runs_.empty(); }

  private:
    using Name = Launch;
    struct Run {
        api::LaunchOrder order;
        api::ObservedRun seen;
        Millis began{0};
        bool live = true;  ///< Processes may be there, and what was granted is in use.
        bool ending = false;
        std::uint64_t plan = 0;  ///< Which planned end counts.
        std::optional<api::StepRecord> step;
    };

    void start(const agent::StartStepd& effect);
    void adopt(const agent::AdoptStepd& effect);
    void tell(const agent::TellStepd& effect);
    void signal(const agent::SignalStepd& effect);
    void forget(const agent::ForgetLocal& effect);

    void check_start(const Name& name, const api::LaunchOrder& order) const;
    void check_go(const api::LaunchOrder& order) const;
    void ready(const Name& name);
    void go(const Name& name, Run& run);
    void plan_end(const Name& name, Run& run);
    void begin_end(const Name& name, Run& run, model::Outcome outcome);
    void end(const Name& name, model::Outcome outcome);
    void vanish(const Name& name, bool never_started);
    void say(const Name& name, const Run& run);
    void later(Millis delay, const Name& name, void (Stepds::*what)(const Name&));

    World& world_;
    Launches& launches_;
    std::vector<std::string> nodes_;
    std::function<void(agent::Event)> tell_;
    std::map<Name, Run> runs_;
    Owner owner_ = 0;  ///< Since the last reboot.
};

}  // namespace twinyard::sim
