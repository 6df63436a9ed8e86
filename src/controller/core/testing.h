#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/core/core.h"
#include "controller/core/invariants.h"

/// A core with a store that never fails, and agents that do what they are told; for tests.
namespace twinyard::controller::testing {

inline constexpr std::uint32_t kUser = 1000;
inline constexpr api::Principal kAdmin{.uid = 0, .gid = 0, .is_admin = true};
inline constexpr api::Principal kOwner{.uid = kUser, .gid = kUser, .is_admin = false};
inline constexpr api::Principal kStranger{.uid = 2000, .gid = 2000, .is_admin = false};

inline model::NodeCapacity capacity(std::uint32_t cpus, std::size_t gpus) {
    model::NodeCapacity capacity;
    capacity.cpus = capacity.cores_per_socket = cpus;
    capacity.memory_bytes = std::int64_t{64} << 30;
    for (std::size_t i = 0; i < gpus; ++i)
        capacity.devices.push_back({.class_path = "gpu/h100", .uuid = "", .path = "", .links = {}});
    return capacity;
}

/// n1…n<count> of 8 cpus and 2 GPUs, one partition "main" over all, no limit.
inline model::ClusterConfig cluster(std::size_t count) {
    model::ClusterConfig config;
    config.nodes_may_join = false;
    for (std::size_t i = 1; i <= count; ++i) {
        model::NodeDeclaration node;
        node.name = "n" + std::to_string(i);
        config.nodes.push_back(node);
    }
    model::Partition partition;
    partition.name = "main";
    partition.all_nodes = true;
    config.partitions.push_back(partition);
    config.limits.return_to_service = 2;
    return config;
}

inline std::shared_ptr<model::WorkloadSpec> job(std::uint32_t nodes = 1, std::uint32_t gpus = 1) {
    auto spec = std::make_shared<model::WorkloadSpec>();
    spec->name = "job";
    spec->uid = spec->gid = kUser;
    spec->partitions = {"main"};
    model::TaskGroup group;
    group.members = {nodes, nodes};
    group.nodes = {nodes, nodes};
    group.per_member.cpu_milli = 1000;
    group.per_node.memory_bytes = std::int64_t{1} << 30;
    if (gpus > 0) group.per_node.devices = {{.class_path = "gpu", .count = gpus}};
    spec->groups.push_back(group);
    return spec;
}

inline api::RequestId request_id(std::uint8_t number) {
    api::RequestId id{};
    id[0] = number;
    return id;
}

class Bench {
  public:
    explicit Bench(std::size_t nodes, Records records = first_records())
        : Bench(cluster(nodes), std::move(records)) {}
    explicit Bench(model::ClusterConfig config, Records records = first_records())
        : stored(std::move(records)), core(load()) {
        configure(std::move(config));
    }

    static Records first_records() {
        Records records;
        records.counters.cluster_id = "c1";
        return records;
    }
    static Settings settings() { return {.term = 3, .cluster_secret = "secret"}; }
    [[nodiscard]] Core load() const {
        Result<Core> made = Core::load(settings(), stored, envelope(kAdmin));
        EXPECT_TRUE(made.has_value());
        return std::move(*made);
    }
    [[nodiscard]] api::Envelope envelope(const api::Principal& who) const {
        return {.time = ClusterTime{Millis{now}},
                .wall = WallTime{Millis{1'700'000'000'000 + now}},
                .principal = who};
    }

    /// Applies, stores, checks all that must hold, and keeps the effects. With slices left to do,
    /// they are done too.
    api::Applied apply(const api::Command& command, const api::Principal& who = kAdmin) {
        api::Applied first = apply_one(command, who);
        for (int slices = 0; core.has_backlog() && slices < 1000; ++slices)
            (void)apply_one(api::Tick{}, kAdmin);
        EXPECT_FALSE(core.has_backlog());
        return first;
    }
    api::Applied apply_one(const api::Command& command, const api::Principal& who) {
        api::Applied applied = core.apply(command, envelope(who));
        EXPECT_LE(applied.mutations.size(), kCommandMutationsMax);
        for (const api::Mutation& mutation : applied.mutations)
            replay(mutation, stored);
        effects.insert(effects.end(), applied.effects.begin(), applied.effects.end());
        check();
        return applied;
    }
    void check() const {
        for (const std::string& text : check_invariants(core))
            ADD_FAILURE() << text;
        EXPECT_EQ(reload_difference(core, settings(), stored, envelope(kAdmin)), "");
    }

    void configure(model::ClusterConfig config) {
        config_ = std::make_shared<const model::ClusterConfig>(std::move(config));
        (void)apply(api::Configure{config_});
    }
    /// The controller dies with everything that was durable, and starts again.
    void restart() {
        core = load();
        effects.clear();
        (void)apply(api::Configure{config_});
    }
    void pass(std::int64_t millis) {
        now += millis;
        (void)apply(api::Tick{});
    }

    [[nodiscard]] model::NodeId node_id(const std::string& name) const {
        model::NodeId id;
        core.snapshot().nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
            if (node->name == name) id = node->id;
        });
        return id;
    }
    [[nodiscard]] model::Node node(const std::string& name) const {
        return *find(core.snapshot(), node_id(name));
    }

    static api::NodeHello hello(const std::string& name) {
        api::NodeHello hello;
        hello.name = name;
        hello.capacity = capacity(8, 2);
        return hello;
    }
    api::Applied join(std::uint64_t session, const std::vector<api::NodeHello>& nodes) {
        api::AgentHello greeting;
        greeting.cluster_id = "c1";
        greeting.address = "a" + std::to_string(session);
        greeting.nodes = nodes;
        return apply(api::AgentJoined{session, greeting});
    }
    /// Session i carries node n<i>.
    void join_all(std::size_t count) {
        for (std::size_t i = 1; i <= count; ++i)
            (void)join(i, {hello("n" + std::to_string(i))});
    }

    model::WorkloadId submit(std::shared_ptr<const model::WorkloadSpec> spec = job()) {
        api::Submit submit;
        submit.spec = std::move(spec);
        const api::Applied applied = apply(submit, kOwner);
        EXPECT_TRUE(applied.reply.has_value());
        return std::get<api::Submitted>(*applied.reply).workload;
    }
    [[nodiscard]] const model::Workload& workload(model::WorkloadId id) const {
        return *find(core.state_view(), id);
    }
    [[nodiscard]] const model::WorkloadStatus& status(model::WorkloadId id) const {
        return workload(id).status;
    }
    [[nodiscard]] model::PlannedStart start(model::WorkloadId id,
                                            const std::vector<std::string>& nodes,
                                            const std::vector<std::uint16_t>& devices) const {
        model::PlannedStart start{
            .workload = id, .generation = status(id).generation, .partition = "main", .grants = {}};
        std::uint32_t member = 0;
        for (const std::string& name : nodes) {
            start.grants.push_back({.node = node_id(name),
                                    .group = 0,
                                    .first_member = member++,
                                    .member_count = 1,
                                    .cpu_milli = 1000,
                                    .memory_bytes = std::int64_t{1} << 30,
                                    .devices = devices});
        }
        return start;
    }
    bool place(model::WorkloadId id,
               const std::vector<std::string>& nodes,
               const std::vector<std::uint16_t>& devices = {0}) {
        const api::Applied applied = apply(api::ApplyPlan{{start(id, nodes, devices)}});
        return std::get<api::PlanApplied>(*applied.reply).started == 1;
    }

    [[nodiscard]] api::LaunchKey key(model::WorkloadId id, std::uint32_t member = 0) const {
        return {id, status(id).attempt, 0, member};
    }
    /// Node n<session> says this of a launch, in its session.
    api::Applied report(std::uint64_t session, api::ObservedRun run, bool full = false) {
        api::NodeReport report;
        report.name = "n" + std::to_string(session);
        report.full = full;
        report.runs.push_back(std::move(run));
        return apply(api::AgentReported{session, {.term = 3, .nodes = {report}}});
    }
    api::Applied report(std::uint64_t session, api::LaunchKey key, api::Phase phase) {
        api::ObservedRun run{
            .key = key, .phase = phase, .address = "d", .outcome = {}, .usage = {}};
        run.has_batch = key.member == 0;
        if (phase == api::Phase::Ended) run.outcome = {.kind = model::EndKind::Completed};
        return report(session, std::move(run));
    }
    api::Applied report_end(std::uint64_t session, api::LaunchKey key, model::Outcome outcome) {
        api::ObservedRun run{.key = key, .phase = api::Phase::Ended, .outcome = std::move(outcome)};
        run.has_batch = key.member == 0;
        return report(session, std::move(run));
    }
    api::Applied report_empty(std::uint64_t session, bool full) {
        api::NodeReport report;
        report.name = "n" + std::to_string(session);
        report.full = full;
        return apply(api::AgentReported{session, {.term = 3, .nodes = {report}}});
    }
    /// Placed on n1…n<nodes> and running there.
    model::WorkloadId running(std::uint32_t nodes = 1,
                              std::shared_ptr<model::WorkloadSpec> spec = nullptr) {
        const model::WorkloadId id = submit(spec != nullptr ? spec : job(nodes));
        std::vector<std::string> names;
        for (std::uint32_t i = 1; i <= nodes; ++i)
            names.push_back("n" + std::to_string(i));
        EXPECT_TRUE(place(id, names));
        for (std::uint32_t i = 0; i < nodes; ++i)
            (void)report(i + 1, key(id, i), api::Phase::Ready);
        for (std::uint32_t i = 0; i < nodes; ++i)
            (void)report(i + 1, key(id, i), api::Phase::Running);
        EXPECT_EQ(status(id).state, model::WorkloadState::Running);
        return id;
    }

    /// The orders since the last call, for one node.
    std::vector<api::NodeOrders> orders(const std::string& name) {
        std::vector<api::NodeOrders> found;
        for (const api::Effect& effect : effects) {
            const auto* send = std::get_if<api::SendOrders>(&effect);
            if (send != nullptr && send->orders.name == name) found.push_back(send->orders);
        }
        return found;
    }

    Records stored;
    std::int64_t now = 1'000'000;
    Core core;
    std::vector<api::Effect> effects;

  private:
    std::shared_ptr<const model::ClusterConfig> config_;
};

}  // namespace twinyard::controller::testing
