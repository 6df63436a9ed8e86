#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/agent_host.h"
#include "sim/clients.h"
#include "sim/controller_host.h"
#include "sim/network.h"
#include "sim/scenario.h"
#include "sim/stepds.h"
#include "sim/world.h"

namespace twinyard::sim {

/// One simulated cluster: a controller (two, while an old one does not know that it lost), three to
/// six nodes, users, and what goes wrong. All of it follows from the seed. One thread.
class Cluster {
  public:
    Cluster(std::uint64_t seed, const Faults& faults);
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    ~Cluster();

    /// Faults, then healing, then all that must hold in the end. Stops at the first thing that must
    /// not be; see failure().
    void run();

    [[nodiscard]] const std::string& failure() const { return world_.failure; }
    [[nodiscard]] const Trace& trace() const { return world_.trace; }
    [[nodiscard]] std::uint64_t launches() const { return launches_.count; }
    [[nodiscard]] std::uint64_t controllers() const { return controllers_.size(); }

  private:
    using Act = void (Cluster::*)();

    void add_agents();
    void plan_faults();
    void each(Millis mean, Act act);
    void run_until(Millis end);
    void heal();
    void run_until_quiet();

    void start_controller();
    void watch_controller();
    void take_over();
    [[nodiscard]] ControllerHost* controller();
    [[nodiscard]] LinkId dial(AgentHost& agent);
    [[nodiscard]] AgentHost& any_agent();
    void crash_controller();
    void crash_agent();
    void reboot_node();
    void lose_journal();
    void partition();
    void lose_device();
    void jump_wall();

    [[nodiscard]] std::string what_is_open();
    void check_history();

    World world_;
    Network network_;
    Launches launches_;
    ReleasedFacts facts_;
    Faults faults_;
    bool healed_ = false;
    bool start_planned_ = false;
    std::int64_t intensity_ = 1;  ///< So many times as often as the mix says.
    std::uint64_t events_ = 0;
    std::size_t nodes_ = 0;
    model::ClusterConfigPtr config_;
    controller::PipelineLimits limits_;
    std::vector<std::unique_ptr<AgentHost>> agents_;
    std::vector<std::unique_ptr<ControllerHost>> controllers_;  ///< All there ever were.
    std::unique_ptr<Clients> clients_;
};

}  // namespace twinyard::sim
