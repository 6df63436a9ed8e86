#include "sim/scenario.h"

#include <array>

namespace twinyard::sim {
namespace {

constexpr Faults kLossyNetwork{.latency_max = Millis{400},
                               .break_link = 12,
                               .double_orders = 120,
                               .lose_reply = 150,
                               .late_request = 150,
                               .partition_each = Seconds{150}};

constexpr Faults kCrashingController{.controller_crash_each = Seconds{25},
                                     .crash_in_release = 6,
                                     .zombie = 350,
                                     .store_delay_max = Millis{120},
                                     .store_slow = 30};

constexpr Faults kCrashingAgents{.double_orders = 40,
                                 .agent_crash_each = Seconds{15},
                                 .crash_in_effects = 15,
                                 .node_reboot_each = Seconds{80},
                                 .journal_loss_each = Seconds{250},
                                 .stepd_fails = 40,
                                 .device_loss_each = Seconds{200}};

constexpr Faults kBadStore{.controller_crash_each = Seconds{120},
                           .store_delay_max = Millis{150},
                           .store_slow = 150,
                           .store_refuses = 40,
                           .store_answer_lost = 20,
                           .store_request_lost = 20,
                           .store_dies = 6,
                           .history_refuses = 200};

constexpr Faults kEverything{.latency_max = Millis{200},
                             .break_link = 6,
                             .double_orders = 50,
                             .lose_reply = 80,
                             .late_request = 80,
                             .partition_each = Seconds{300},
                             .controller_crash_each = Seconds{60},
                             .crash_in_release = 3,
                             .zombie = 300,
                             .agent_crash_each = Seconds{60},
                             .crash_in_effects = 5,
                             .node_reboot_each = Seconds{200},
                             .journal_loss_each = Seconds{600},
                             .stepd_fails = 15,
                             .device_loss_each = Seconds{400},
                             .store_delay_max = Millis{80},
                             .store_slow = 20,
                             .store_refuses = 10,
                             .store_answer_lost = 6,
                             .store_request_lost = 6,
                             .store_dies = 2,
                             .history_refuses = 80,
                             .wall_jump_each = Seconds{240}};

constexpr auto kScenarios = std::to_array<Scenario>({
    {"calm", {}},
    {"lossy network", kLossyNetwork},
    {"crashing controller", kCrashingController},
    {"crashing agents", kCrashingAgents},
    {"bad store", kBadStore},
    {"everything", kEverything},
});

}  // namespace

std::span<const Scenario> scenarios() {
    return kScenarios;
}

const Scenario& scenario_of(std::uint64_t seed) {
    return kScenarios[seed % kScenarios.size()];
}

}  // namespace twinyard::sim
