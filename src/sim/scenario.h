#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"

namespace twinyard::sim {

/// What goes wrong and how often: chances in thousandths of each occasion, mean times between
/// events (0: never). All zero: nothing does.
struct Faults {
    // The network. Within one connection messages keep their order, so a loss is a break.
    Millis latency_max{5};
    std::uint32_t break_link = 0;     ///< Of each message between controller and agent.
    std::uint32_t double_orders = 0;  ///< Of each order: it comes a second time, later.
    std::uint32_t lose_reply = 0;     ///< Of each client's request: what became of it is unknown.
    std::uint32_t late_request = 0;   ///< Of each submission: it comes a second time, later.
    Millis partition_each{0};         ///< A node is cut off for minutes.

    // The controller.
    Millis controller_crash_each{0};
    std::uint32_t crash_in_release = 0;  ///< Of each release: dies in the middle of it.
    std::uint32_t zombie = 0;            ///< Of each crash: lives on beside the next one instead.

    // Nodes.
    Millis agent_crash_each{0};
    std::uint32_t crash_in_effects = 0;  ///< Of each event: the agent dies in the middle of it.
    Millis node_reboot_each{0};
    Millis journal_loss_each{0};    ///< With a reboot: a new disk.
    std::uint32_t stepd_fails = 0;  ///< Of each launch: does not start, or vanishes.
    Millis device_loss_each{0};     ///< The agent comes back with a sick device.

    // The store, of each transaction; and the history.
    Millis store_delay_max{5};
    std::uint32_t store_slow = 0;
    std::uint32_t store_refuses = 0;
    std::uint32_t store_answer_lost = 0;
    std::uint32_t store_request_lost = 0;
    std::uint32_t store_dies = 0;
    std::uint32_t store_tears = 0;  ///< No engine may do that: for the proof that it is seen.
    std::uint32_t history_refuses = 0;

    Millis wall_jump_each{0};
};

/// A named mix.
struct Scenario {
    std::string_view name;
    Faults faults;
};

/// Calm, lossy network, crashing controller, crashing agents, bad store, everything.
[[nodiscard]] std::span<const Scenario> scenarios();
/// The mix of a seed.
[[nodiscard]] const Scenario& scenario_of(std::uint64_t seed);

}  // namespace twinyard::sim
