// The engine at size (GOALS.md rows b, c, c2): placements a second at 95 % full, and full and
// incremental passes over a long queue on a full cluster.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/snapshot.h"
#include "sched/forecast.h"
#include "sched/index.h"
#include "sched/order.h"
#include "sched/plan.h"

namespace {

using namespace twinyard;

constexpr ClusterTime kNow{Seconds{10'000'000}};
constexpr WallTime kWall{Seconds{1'800'000'000}};
constexpr std::uint32_t kNodes = 10'000;
constexpr std::uint32_t kGpus = 8;

model::Snapshot cluster() {
    model::Snapshot snapshot;
    snapshot.revision = 1;
    auto config = std::make_shared<model::ClusterConfig>();
    config->partitions.resize(2);
    config->partitions[0].name = "train";
    config->partitions[0].all_nodes = true;
    config->partitions[0].tier = 10;
    config->partitions[1].name = "other";
    config->partitions[1].all_nodes = true;
    config->priority.weight_age = 1000;
    config->priority.weight_job_size = 1000;
    snapshot.config = config;
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
        auto node = std::make_shared<model::Node>();
        node->id = model::NodeId{id};
        node->name = "n" + std::to_string(id);
        node->capacity.cpus = node->capacity.cores_per_socket = 96;
        node->capacity.memory_bytes = std::int64_t{1} << 40;
        node->capacity.devices.resize(kGpus);
        for (model::Device& device : node->capacity.devices)
            device.class_path = "gpu/h100";
        node->link = model::NodeLink::Responding;
        snapshot.nodes.put(id, std::move(node));
    }
    return snapshot;
}

std::shared_ptr<const model::WorkloadSpec> spec_of(std::uint32_t nodes,
                                                   std::uint32_t gpus,
                                                   const char* partition,
                                                   Millis limit) {
    auto spec = std::make_shared<model::WorkloadSpec>();
    spec->partitions = {partition};
    spec->time_limit = limit;
    spec->groups.resize(1);
    spec->groups[0].nodes = spec->groups[0].members = {nodes, nodes};
    spec->groups[0].per_member.cpu_milli = std::int64_t{1000} * gpus * 4;
    spec->groups[0].per_node.memory_bytes = std::int64_t{gpus} << 34;
    spec->groups[0].per_node.devices = {{"gpu/h100", gpus, 0}};
    return spec;
}

std::shared_ptr<model::Workload> workload(std::uint64_t id,
                                          std::shared_ptr<const model::WorkloadSpec> spec) {
    auto made = std::make_shared<model::Workload>();
    made->id = model::WorkloadId{id};
    made->revision = 1;
    made->spec = std::move(spec);
    made->status.submitted = kNow - Seconds{static_cast<std::int64_t>(200'000 - id % 100'000)};
    made->status.eligible = made->status.submitted;
    return made;
}

/// Fills whole GPUs one by one with running work; the last ones of each 100 stay free.
void fill(model::Snapshot& snapshot, std::uint32_t free_percent) {
    std::uint64_t id = 1'000'000;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
        for (std::uint16_t gpu = 0; gpu < kGpus; ++gpu) {
            const std::uint32_t at = (node * kGpus + gpu) * 37 % 100;
            if (at < free_percent) continue;
            ++id;
            const auto limit = Seconds{static_cast<std::int64_t>(100'000 + id % 5'000)};
            auto running = workload(id, spec_of(1, 1, "train", limit));
            running->status.state = model::WorkloadState::Running;
            running->status.started = kNow - Seconds{static_cast<std::int64_t>(id % 50'000)};
            auto placement = std::make_shared<model::Placement>();
            placement->partition = "train";
            model::NodeGrant grant;
            grant.node = model::NodeId{node};
            grant.member_count = 1;
            grant.cpu_milli = 4000;
            grant.memory_bytes = std::int64_t{1} << 34;
            for (std::uint16_t cpu = 0; cpu < 4; ++cpu)
                grant.cpus.push_back(static_cast<std::uint16_t>(gpu * 4 + cpu));
            grant.devices = {gpu};
            placement->grants.push_back(std::move(grant));
            running->placement = std::move(placement);
            snapshot.workloads.put(id, std::move(running));
        }
    }
}

void queue(model::Snapshot& snapshot, std::uint32_t count, std::uint32_t shapes) {
    std::vector<std::shared_ptr<const model::WorkloadSpec>> specs;
    for (std::uint32_t shape = 0; shape < shapes; ++shape) {
        const std::uint32_t gpus = 1U << shape % 4;
        const std::uint32_t nodes = gpus < kGpus ? 1 : 1 + shape / 4 % 16;
        specs.push_back(spec_of(nodes,
                                gpus,
                                shape % 2 == 0 ? "train" : "other",
                                Seconds{3600 + std::int64_t{shape} * 60}));
    }
    for (std::uint64_t id = 1; id <= count; ++id)
        snapshot.workloads.put(id, workload(id, specs[id * 7919 % shapes]));
}

/// Row b: passes that start all that fits, then all of it ends again. Items are placements.
void placements(benchmark::State& state) {
    model::Snapshot snapshot = cluster();
    fill(snapshot, 5);
    std::vector<std::shared_ptr<const model::WorkloadSpec>> shapes;
    for (std::uint32_t shape = 0; shape < 8; ++shape)
        shapes.push_back(spec_of(1, 1 + shape % 2, "train", Seconds{3600 + shape}));
    for (std::uint64_t id = 1; id <= 2'000; ++id)
        snapshot.workloads.put(id, workload(id, shapes[id % 8]));
    const sched::Index full = sched::Index::build(snapshot);
    std::int64_t started = 0;
    for (auto _ : state) {
        const model::Plan planned = sched::plan(full, kNow, kWall, snapshot.config->priority, {});
        started += static_cast<std::int64_t>(planned.starts.size());
    }
    state.SetItemsProcessed(started);
    state.counters["starts_a_pass"] =
        static_cast<double>(started) / static_cast<double>(state.iterations());
}
BENCHMARK(placements)->Unit(benchmark::kMillisecond);

/// Row c: 100,000 pending in `shapes` shapes on a full cluster.
void full_pass(benchmark::State& state) {
    model::Snapshot snapshot = cluster();
    fill(snapshot, 0);
    queue(snapshot, 100'000, static_cast<std::uint32_t>(state.range(0)));
    const sched::Index index = sched::Index::build(snapshot);
    for (auto _ : state)
        benchmark::DoNotOptimize(sched::plan(index, kNow, kWall, snapshot.config->priority, {}));
    state.counters["shapes"] = static_cast<double>(index.shape_count());
}
BENCHMARK(full_pass)->Arg(500)->Arg(20'000)->Unit(benchmark::kMillisecond);

/// Predicted starts of the first 1,000, as far as the default work goes.
void predicted_starts(benchmark::State& state) {
    model::Snapshot snapshot = cluster();
    fill(snapshot, 0);
    queue(snapshot, 100'000, 500);
    const sched::Index index = sched::Index::build(snapshot);
    model::Forecast told;
    for (auto _ : state)
        told = sched::forecast(index, kNow, kWall, snapshot.config->priority);
    const auto never = std::ranges::count_if(told.starts, [](auto& each) { return !each.second; });
    state.counters["told"] = static_cast<double>(told.starts.size());
    state.counters["never"] = static_cast<double>(never);
}
BENCHMARK(predicted_starts)->Unit(benchmark::kMillisecond)->Iterations(1);

/// A part of it: the order alone.
void order(benchmark::State& state) {
    model::Snapshot snapshot = cluster();
    queue(snapshot, 100'000, 500);
    const sched::Index index = sched::Index::build(snapshot);
    for (auto _ : state)
        benchmark::DoNotOptimize(sched::order_of(index, snapshot.config->priority, kNow));
}
BENCHMARK(order)->Unit(benchmark::kMillisecond);

/// Row c2: one event (a submit, and gone again), then a pass.
void advance_and_pass(benchmark::State& state) {
    model::Snapshot snapshot = cluster();
    fill(snapshot, 0);
    queue(snapshot, 100'000, 500);
    sched::Index index = sched::Index::build(snapshot);
    const model::WorkloadPtr added = workload(500'000, spec_of(1, 1, "train", Seconds{60}));
    bool there = false;
    for (auto _ : state) {
        model::ChangeSet changes;
        changes.revision = ++snapshot.revision;
        changes.changes.emplace_back(model::WorkloadChange{added->id, there ? nullptr : added});
        there = !there;
        index.advance(changes, snapshot);
        benchmark::DoNotOptimize(sched::plan(index, kNow, kWall, snapshot.config->priority, {}));
    }
}
BENCHMARK(advance_and_pass)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
