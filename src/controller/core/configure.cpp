// Brings the nodes in line with the configuration: Configure replaces it at once, the nodes follow
// in slices (ConfigureWork), in its order, so that their ids follow it too.
#include <algorithm>
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

using model::Device;
using model::Node;
using model::NodeDeclaration;

/// Devices by class, with what the agent found of the same class behind them.
std::vector<Device> merged_devices(const std::vector<Device>& declared,
                                   const std::vector<Device>& found) {
    std::vector<bool> taken(found.size(), false);
    std::vector<Device> merged = declared;
    for (Device& device : merged) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool same = model::is_of_class(found[i].class_path, device.class_path) ||
                              model::is_of_class(device.class_path, found[i].class_path);
            if (taken[i] || !same) continue;
            taken[i] = true;
            const std::string class_path = device.class_path;
            device = found[i];
            device.class_path = class_path;
            break;
        }
    }
    return merged;
}

/// Counts beyond the hardware are believed where nothing of the kind is there (a test cluster on a
/// laptop); some, but fewer than declared, is a defect.
std::string shortfall_of(const std::vector<Device>& declared, const std::vector<Device>& found) {
    const auto real = std::ranges::count_if(
        found, [](const Device& device) { return !device.path.empty() && device.healthy; });
    const auto wanted = static_cast<std::ptrdiff_t>(declared.size());
    if (real == 0 || real >= wanted) return {};
    return "gres/gpu count reported lower than configured (" + std::to_string(real) + " < " +
           std::to_string(wanted) + ")";
}

void declare_cpus(const NodeDeclaration& declared, model::NodeCapacity& capacity) {
    const bool shaped = declared.sockets || declared.cores_per_socket || declared.threads_per_core;
    if (!declared.cpus && !shaped) return;
    capacity.sockets = declared.sockets.value_or(1);
    capacity.threads_per_core = declared.threads_per_core.value_or(1);
    const std::uint32_t least = std::max(capacity.sockets * capacity.threads_per_core, 1U);
    capacity.cores_per_socket = declared.cores_per_socket.value_or(
        declared.cpus ? std::max(*declared.cpus / least, 1U) : 1U);
    capacity.cpus = declared.cpus.value_or(least * capacity.cores_per_socket);
}

/// A device's index is its name while it is in use: the list then only grows, and what is gone is
/// unhealthy.
void keep_used_devices(const Transaction& tx, const Node& node, std::vector<Device>& devices) {
    const std::vector<Device>& old = node.capacity.devices;
    if (use_of(tx.state(), node.id).devices.empty()) return;
    for (std::size_t i = devices.size(); i < old.size(); ++i) {
        devices.push_back(old[i]);
        devices.back().healthy = false;
    }
}

void drain_for(const Transaction& tx, Node& node, const std::string& reason) {
    if (reason.empty() || (node.drain && !node.reason.empty())) return;
    node.drain = true;
    node.reason = reason;
    node.reason_uid = 0;
    node.reason_time = tx.wall();
}

void declare(const Transaction& tx, const NodeDeclaration& declared, Node& node) {
    node.address = declared.address.empty() ? node.address : declared.address;
    node.weight = declared.weight;
    node.emulated = declared.emulated || node.emulated;
    node.configured = true;
    node.labels.clear();
    for (const std::string& feature : declared.features)
        node.labels.emplace_back(feature, "");
    std::ranges::sort(node.labels);
    merge_capacity(tx, node);
}

Node new_node(Transaction& tx, const NodeDeclaration& declared) {
    Node node;
    node.id = model::NodeId{tx.counters().next_node++};
    node.name = declared.name;
    node.address = declared.name;
    node.drain = declared.drain;
    node.down = declared.down;
    if (!node.drain && !node.down) return node;
    node.reason = declared.reason;
    node.reason_time = tx.wall();
    return node;
}

void configure_node(Transaction& tx, const NodeDeclaration& declared) {
    const auto known = tx.state().node_names.find(declared.name);
    Node node = known == tx.state().node_names.end() ? new_node(tx, declared)
                                                     : *find(tx.view(), known->second);
    declare(tx, declared, node);
    tx.put_node(std::move(node));
}

/// Not declared any more: stays while agents may bring their own, else until its work is over.
void configure_undeclared(Transaction& tx, const Node& old) {
    if (tx.state().declared.contains(old.name)) return;
    Node node = old;
    node.configured = tx.config().nodes_may_join;
    tx.put_node(std::move(node));
}

}  // namespace

const NodeDeclaration* find_declaration(const Core::State& state, std::string_view name) {
    const auto found = state.declared.find(name);
    return found == state.declared.end() ? nullptr : &state.view.config->nodes[found->second];
}

void merge_capacity(const Transaction& tx, Node& node) {
    const NodeDeclaration* declared = find_declaration(tx.state(), node.name);
    const auto runtime = tx.state().nodes.find(node.id);
    const bool seen = runtime != tx.state().nodes.end() && runtime->second.found.has_value();
    model::NodeCapacity capacity = seen ? runtime->second.found->capacity : node.capacity;
    if (declared != nullptr) {
        declare_cpus(*declared, capacity);
        if (declared->memory_bytes) capacity.memory_bytes = *declared->memory_bytes;
        if (!declared->devices.empty()) {
            if (seen) drain_for(tx, node, shortfall_of(declared->devices, capacity.devices));
            capacity.devices = merged_devices(declared->devices, capacity.devices);
        }
    }
    keep_used_devices(tx, node, capacity.devices);
    node.capacity = std::move(capacity);
}

Result<api::Reply> handle(Transaction& tx, const api::Configure& command) {
    if (command.config == nullptr)
        return fail(ErrorCode::InvalidArgument, "the configuration is empty");
    Core::State& memory = tx.memory();
    memory.view.config = command.config;
    memory.declared.clear();
    for (std::size_t i = 0; i < command.config->nodes.size(); ++i)
        memory.declared.emplace(command.config->nodes[i].name, i);
    for (auto& [id, runtime] : memory.nodes)
        runtime.digest.reset();
    // Limits may have changed. All at once: a reconfiguration is rare, and half of it would be
    // wrong.
    memory.view.workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        set_timer(memory, workload->id, due(memory, *workload));
    });
    tx.note_config();
    enqueue(tx, ConfigureWork{});
    return api::Done{};
}

bool work_off(Transaction& tx, ConfigureWork& work) {
    const auto& declared = tx.config().nodes;
    for (; work.next_declared < declared.size(); ++work.next_declared) {
        if (!tx.has_room()) return false;
        configure_node(tx, declared[work.next_declared]);
    }
    const IdMap<model::NodePtr> nodes = tx.view().nodes;
    bool all = true;
    nodes.for_each_from(work.last_kept.value() + 1, [&](std::uint64_t, const model::NodePtr& node) {
        all = tx.has_room();
        if (!all) return false;
        configure_undeclared(tx, *node);
        work.last_kept = node->id;
        return true;
    });
    return all;
}

}  // namespace twinyard::controller
