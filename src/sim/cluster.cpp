// run(): the cluster comes up, users and faults do their work for some minutes, then the faults end
// and everything must come to its end. Safety is checked where it can break: by the step daemons
// (stepds.cpp), by the controller's surroundings (controller_host.cpp), by the users (clients.cpp).
// Here is what starts and breaks things, and what must hold in the end.
#include "sim/cluster.h"

#include <algorithm>
#include <map>
#include <utility>

namespace twinyard::sim {
namespace {

constexpr Millis kFaultsLast{Seconds{240}};
constexpr Millis kQuietWithin{Seconds{3'600}};
constexpr Millis kStoreDownMax{8'000};
constexpr Millis kWatchEach{500};
constexpr Millis kZombieLives{Seconds{30}};
constexpr std::uint64_t kEventsMax = 3'000'000;
constexpr int kWallJumps = 3;

model::NodeCapacity random_capacity(Dice& dice) {
    model::NodeCapacity capacity;
    capacity.cpus = capacity.cores_per_socket = static_cast<std::uint32_t>(6 + dice.below(4));
    capacity.memory_bytes = std::int64_t{64} << 30;
    const std::uint64_t gpus = 2 + dice.below(3);
    for (std::uint64_t i = 0; i < gpus; ++i)
        capacity.devices.push_back({.class_path = "gpu/h100", .uuid = "", .path = "", .links = {}});
    return capacity;
}

model::ClusterConfigPtr make_config(std::size_t nodes) {
    model::ClusterConfig config;
    config.nodes_may_join = false;
    for (std::size_t i = 1; i <= nodes; ++i) {
        model::NodeDeclaration node;
        node.name = "n" + std::to_string(i);
        config.nodes.push_back(node);
    }
    model::Partition partition;
    partition.name = "main";
    partition.all_nodes = true;
    config.partitions.push_back(partition);
    config.limits.return_to_service = 2;
    config.limits.min_job_age = Seconds{40};
    config.limits.node_silent_after = Seconds{15};
    config.limits.node_lost_after = Seconds{45};
    return std::make_shared<const model::ClusterConfig>(std::move(config));
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, const Faults& faults)
    : world_(seed), network_(world_), faults_(faults) {
    nodes_ = 3 + world_.dice.below(4);
    config_ = make_config(nodes_);
    // Small batches, so that several are under way and a crash falls between them.
    limits_.bytes_max = world_.dice.one_in(3) ? std::size_t{1} << 20 : 600;
    world_.faults = faults;
    intensity_ = static_cast<std::int64_t>(1 + world_.dice.below(3));
    add_agents();
    clients_ = std::make_unique<Clients>(world_, nodes_, [this] { return controller(); });
}

Cluster::~Cluster() = default;

/// One node each, but the last one may carry two.
void Cluster::add_agents() {
    const bool last_has_two = world_.dice.one_in(3);
    for (std::size_t node = 1; node <= nodes_;) {
        const std::size_t count = last_has_two && node + 1 == nodes_ ? 2 : 1;
        agent::Settings settings;
        settings.address = "host" + std::to_string(agents_.size() + 1);
        for (std::size_t i = 0; i < count; ++i) {
            api::NodeHello hello;
            hello.name = "n" + std::to_string(node++);
            hello.capacity = random_capacity(world_.dice);
            settings.nodes.push_back(std::move(hello));
        }
        agents_.push_back(std::make_unique<AgentHost>(
            world_, launches_, network_, std::move(settings), [this](AgentHost& agent) {
                return dial(agent);
            }));
    }
}

void Cluster::run() {
    start_controller();
    watch_controller();
    for (const auto& agent : agents_)
        agent->boot();
    clients_->begin(20 + world_.dice.below(25), kFaultsLast * 4 / 5);
    plan_faults();
    run_until(kFaultsLast);
    if (world_.failed()) return;
    heal();
    run_until_quiet();
    if (!world_.failed()) check_history();
}

void Cluster::plan_faults() {
    each(faults_.controller_crash_each, &Cluster::crash_controller);
    each(faults_.agent_crash_each, &Cluster::crash_agent);
    each(faults_.node_reboot_each, &Cluster::reboot_node);
    each(faults_.journal_loss_each, &Cluster::lose_journal);
    each(faults_.partition_each, &Cluster::partition);
    each(faults_.device_loss_each, &Cluster::lose_device);
    for (int i = 0; i < kWallJumps && faults_.wall_jump_each > Millis{0}; ++i)
        world_.timeline.in(world_.dice.between(Millis{0}, kFaultsLast), 0, [this] { jump_wall(); });
}

void Cluster::each(Millis mean, Act act) {
    if (mean <= Millis{0}) return;
    world_.timeline.in(world_.around(mean / intensity_), 0, [this, mean, act] {
        if (healed_) return;
        (this->*act)();
        each(mean, act);
    });
}

void Cluster::run_until(Millis end) {
    while (!world_.failed() && world_.timeline.now() < end && world_.timeline.step()) {
        if (++events_ > kEventsMax) world_.fail("it never comes to rest");
    }
}

void Cluster::heal() {
    world_.note("healed");
    healed_ = true;
    world_.faults = {};
    for (const auto& agent : agents_)
        agent->set_device_health(true);
}

void Cluster::run_until_quiet() {
    const Millis end = world_.timeline.now() + kQuietWithin;
    std::string open = "nothing was looked at";
    while (!open.empty() && !world_.failed() && world_.timeline.now() < end) {
        clients_->lift_all();
        run_until(world_.timeline.now() + Seconds{10});
        open = what_is_open();
    }
    if (!open.empty() && !world_.failed()) world_.fail("after healing: " + open);
}

void Cluster::start_controller() {
    controllers_.push_back(
        std::make_unique<ControllerHost>(world_, network_, facts_, config_, limits_));
    if (!controllers_.back()->start()) world_.note("the controller could not start");
}

/// Whatever it died of, it is started again some time later.
void Cluster::watch_controller() {
    if (controller() == nullptr && !start_planned_) {
        start_planned_ = true;
        world_.timeline.in(world_.dice.between(Millis{20}, kStoreDownMax), 0, [this] {
            start_planned_ = false;
            start_controller();
        });
    }
    world_.timeline.in(kWatchEach, 0, [this] { watch_controller(); });
}

/// The one that began last, if it lives. It is started again when it is found dead.
ControllerHost* Cluster::controller() {
    if (controllers_.empty() || !controllers_.back()->is_up()) return nullptr;
    return controllers_.back().get();
}

LinkId Cluster::dial(AgentHost& agent) {
    ControllerHost* to = controller();
    if (to == nullptr) return 0;
    return network_.open(agent, agent.owner(), *to, to->owner());
}

AgentHost& Cluster::any_agent() {
    return *agents_[world_.dice.below(agents_.size())];
}

/// Dies, or lives on for a while and does not know yet that another one has taken over.
void Cluster::crash_controller() {
    ControllerHost* now = controller();
    if (now == nullptr) return;
    if (world_.dice.per_mille(world_.faults.zombie)) return take_over();
    now->crash("killed");
}

void Cluster::take_over() {
    world_.note("another controller takes over");
    ControllerHost* old = controller();
    start_controller();
    world_.timeline.in(world_.dice.between(Millis{10}, kZombieLives), 0, [old] {
        old->crash("its lease ran out");
    });
}

void Cluster::crash_agent() {
    any_agent().crash();
}

void Cluster::reboot_node() {
    any_agent().reboot(false);
}

void Cluster::lose_journal() {
    any_agent().reboot(true);
}

void Cluster::partition() {
    any_agent().cut_off(world_.dice.between(Seconds{2}, Seconds{100}));
}

void Cluster::lose_device() {
    any_agent().set_device_health(false);
}

void Cluster::jump_wall() {
    world_.wall_offset += world_.dice.between(Seconds{-50}, Seconds{50});
    world_.note("the wall clock jumps to " + std::to_string(world_.wall_offset.count()));
}

/// Empty: every job has ended, every node is clean, the outbox is empty.
std::string Cluster::what_is_open() {
    const ControllerHost* host = controller();
    if (host == nullptr) return "there is no controller";
    if (!clients_->all_answered()) return "a client waits for its answer";
    std::string open;
    const model::Snapshot& view = host->core().state_view();
    view.workloads.for_each([&](std::uint64_t id, const model::WorkloadPtr& workload) {
        const bool over =
            workload->status.state == model::WorkloadState::Done && workload->status.fenced.empty();
        if (!over)
            open = "workload " + std::to_string(id) + " is in state " +
                   std::to_string(static_cast<int>(workload->status.state));
    });
    if (!open.empty()) return open;
    if (view.uses.size() != 0) return "a node is in use";
    view.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        if (node->link != model::NodeLink::Responding) open = "node " + node->name + " is silent";
        if (!node->facts.notes.empty()) open = "node " + node->name + ": " + node->facts.notes;
    });
    for (const auto& agent : agents_) {
        if (open.empty()) open = agent->what_is_left();
    }
    if (!open.empty()) return open;
    if (world_.durable.count("o/") != 0) return "rows wait in the outbox";
    return host->why_busy();
}

/// Every attempt has one row, and it tells of its end; every acknowledged job is there.
void Cluster::check_history() {
    std::map<model::WorkloadId, std::map<model::Attempt, api::AccountingRecord>> rows;
    std::map<std::string, model::WorkloadId> names;
    api::AccountingQuery query;
    query.all_attempts = true;
    const Status read = world_.history.query(query, [&](const api::AccountingRecord& row) {
        if (row.step == -1) rows[row.workload].emplace(row.attempt, row);
        return true;
    });
    if (!read) return world_.fail("the history cannot be read");
    for (const auto& [id, acknowledged] : clients_->acknowledged()) {
        if (!rows.contains(id))
            world_.fail("acknowledged workload " + std::to_string(id.value()) + " is lost");
    }
    for (const auto& [id, attempts] : rows) {
        const std::string what = "workload " + std::to_string(id.value());
        const auto [place, fresh] = names.emplace(attempts.begin()->second.name, id);
        if (!fresh) world_.fail(what + " was submitted twice: " + place->first);
        model::Attempt expected = 1;
        for (const auto& [attempt, row] : attempts) {
            const bool is_last = attempt == attempts.rbegin()->first;
            if (attempt != expected++) world_.fail(what + " has no row of an attempt");
            if (row.state != model::WorkloadState::Done)
                world_.fail(what + " has an attempt that never ended in the history");
            const bool completed = row.outcome.kind == model::EndKind::Completed;
            if (completed && !launches_.completed.contains({id, attempt}))
                world_.fail(what + " is said to have completed and did not");
            if (row.requeued == is_last) world_.fail(what + " has not ended once");
        }
        const auto known = facts_.attempts.find(id);
        if (known != facts_.attempts.end() && known->second > attempts.rbegin()->first)
            world_.fail(what + " has attempts that are not in the history");
    }
}

}  // namespace twinyard::sim
