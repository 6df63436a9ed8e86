#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/agent_core.h"
#include "sim/network.h"
#include "sim/stepds.h"
#include "sim/world.h"

namespace twinyard::sim {

/// One host with its agent: the production core, a disk whose unsynced appends vanish at a crash,
/// and step daemons that survive it.
class AgentHost final : public AgentEnd {
  public:
    /// `dial` connects to whatever controller can be reached; 0: none.
    AgentHost(World& world,
              Launches& launches,
              Network& network,
              agent::Settings settings,
              std::function<LinkId(AgentHost&)> dial);

    void boot();
    /// Comes back by itself.
    void crash();
    void reboot(bool lose_disk);
    /// Nobody reaches it, and it reaches nobody.
    void cut_off(Millis how_long);
    /// The agent is restarted and finds a device sick, or all of them well.
    void set_device_health(bool all_well);

    [[nodiscard]] bool is_up() const { return core_.has_value(); }
    [[nodiscard]] Owner owner() const { return owner_; }
    /// Empty: nothing is on its nodes, and it knows of nothing.
    [[nodiscard]] std::string what_is_left() const;

    void on_orders(LinkId link, const api::AgentOrders& orders) override;
    void on_answer(LinkId link, std::uint64_t seq, bool accepted) override;
    void on_link_closed(LinkId link) override;

  private:
    [[nodiscard]] agent::Now now() const;
    void hear(const agent::Event& event);
    void perform(const std::vector<agent::Effect>& effects);
    void perform(const agent::Effect& effect);
    void append(const agent::AppendJournal& append);
    void sweep();
    void die(Millis back_after);
    void connect_in(Millis delay);
    void connect();
    void plan_flush(Millis delay);
    void flush();

    World& world_;
    Network& network_;
    agent::Settings settings_;
    std::function<LinkId(AgentHost&)> dial_;
    Stepds stepds_;

    // The disk.
    std::vector<agent::JournalEntry> synced_;
    std::vector<agent::JournalEntry> unsynced_;

    // The process.
    Owner owner_ = 0;
    std::optional<agent::AgentCore> core_;
    LinkId link_ = 0;
    std::uint64_t flush_plan_ = 0;
    std::optional<Millis> flush_at_;
    Millis cut_off_until_{0};
};

}  // namespace twinyard::sim
