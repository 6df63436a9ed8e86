#include "agent/shell/node_facts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "agent/shell/host_clock.h"
#include "base/text.h"

namespace twinyard::agent {
namespace {

constexpr std::string_view kVersion = "0.1.0";
/// One node has no more.
constexpr std::uint32_t kDevicesMax = 1'024;

template <class T>
bool parse_number(std::string_view text, T& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
}

/// "h100:8,a100:2", or "8" without a type.
Result<std::vector<model::Device>> parse_gpus(std::string_view text) {
    std::vector<model::Device> devices;
    for (const std::string_view part : split_list(text)) {
        const auto pair = split_once(part, ':');
        const std::string_view number = pair ? pair->second : part;
        std::uint32_t count = 0;
        const bool valid = parse_number(number, count) && (!pair || !pair->first.empty());
        if (!valid || devices.size() + count > kDevicesMax)
            return fail(ErrorCode::InvalidArgument, "bad GPUs \"" + printable(part) + '"');
        model::Device device;
        device.class_path = pair ? "gpu/" + to_lower(pair->first) : "gpu";
        devices.insert(devices.end(), count, device);
    }
    return devices;
}

std::vector<model::Device> found_gpus(const os::HostInventory& inventory) {
    std::vector<model::Device> devices;
    for (const os::GpuInfo& gpu : inventory.gpus) {
        model::Device device;
        device.class_path = "gpu/" + gpu.type;
        device.uuid = gpu.uuid;
        if (gpu.minor >= 0) device.path = "/dev/nvidia" + std::to_string(gpu.minor);
        device.memory_bytes = static_cast<std::int64_t>(gpu.memory_bytes);
        device.numa = gpu.numa_node;
        for (const int peer : gpu.nvlink_peers)
            device.links.push_back(static_cast<std::uint16_t>(peer));
        devices.push_back(std::move(device));
    }
    return devices;
}

void add_note(std::string& notes, std::string_view note) {
    if (!notes.empty()) notes += "; ";
    notes += note;
}

void set_cpus(model::NodeCapacity& capacity, std::uint32_t cpus) {
    capacity.cpus = cpus;
    capacity.sockets = capacity.threads_per_core = 1;
    capacity.cores_per_socket = cpus;
}

model::NodeCapacity found_capacity(const os::HostInventory& inventory) {
    model::NodeCapacity capacity;
    const auto cpus = static_cast<std::uint32_t>(std::max<std::size_t>(inventory.cpus.size(), 1));
    capacity.sockets = static_cast<std::uint32_t>(inventory.sockets);
    capacity.cores_per_socket = static_cast<std::uint32_t>(inventory.cores_per_socket);
    capacity.threads_per_core = static_cast<std::uint32_t>(inventory.threads_per_core);
    capacity.cpus = cpus;
    // In a container we may have less than the host: then its shape says nothing.
    if (capacity.sockets * capacity.cores_per_socket * capacity.threads_per_core != cpus)
        set_cpus(capacity, cpus);
    capacity.memory_bytes = static_cast<std::int64_t>(inventory.memory_bytes);
    capacity.tmp_disk_bytes = static_cast<std::int64_t>(inventory.tmp_disk_bytes);
    capacity.devices = found_gpus(inventory);
    return capacity;
}

model::NodeFacts facts_of(const os::HostInventory& inventory, const std::string& tracking) {
    model::NodeFacts facts;
    facts.host_name = inventory.hostname;
    facts.os = inventory.kernel;
    facts.arch = inventory.arch;
    facts.version = kVersion;
    facts.process_tracking = tracking;
    const Now now = host_now();
    facts.boot_time = now.wall - now.boot;
    facts.agent_start = now.wall;
    return facts;
}

/// Shape and disk of an emulated node, where the line says them.
Status parse_shape(const std::vector<std::string_view>& words, model::NodeCapacity& capacity) {
    if (words.size() == 4) return {};
    const bool valid = words.size() >= 7 && words.size() <= 8 &&
                       parse_number(words[4], capacity.sockets) &&
                       parse_number(words[5], capacity.cores_per_socket) &&
                       parse_number(words[6], capacity.threads_per_core) &&
                       (words.size() == 7 || parse_number(words[7], capacity.tmp_disk_bytes));
    if (valid) return {};
    return fail(ErrorCode::InvalidArgument, "bad sockets, cores, threads or disk");
}

Result<api::NodeHello> parse_emulated_node(std::string_view line) {
    const std::vector<std::string_view> words = split_list(line, ' ');
    api::NodeHello hello;
    model::NodeCapacity& capacity = hello.capacity;
    const bool valid = words.size() >= 4 && parse_number(words[1], capacity.cpus) &&
                       capacity.cpus > 0 && parse_number(words[2], capacity.memory_bytes);
    if (!valid) return fail(ErrorCode::InvalidArgument, "wanted: name cpus memory gpus");
    hello.name = words[0];
    hello.emulated = true;
    set_cpus(capacity, capacity.cpus);
    TRY_STATUS(parse_shape(words, capacity));
    if (words[3] == "-") return hello;
    TRY(capacity.devices, parse_gpus(words[3]));
    return hello;
}

}  // namespace

Result<HostNode> describe_host(const AgentOptions& options,
                               const os::HostInventory& inventory,
                               const os::NamespaceProbe& namespaces,
                               const std::string& tracking) {
    HostNode node;
    node.hello.name = options.node.empty() ? inventory.hostname : options.node;
    node.hello.capacity = found_capacity(inventory);
    node.hello.facts = facts_of(inventory, tracking);
    // Programs tell nodes apart by it, and inside a job of a shared host it is what hostname says.
    if (options.shares_host) node.hello.facts.host_name = node.hello.name;
    model::NodeCapacity& capacity = node.hello.capacity;
    std::string& notes = node.hello.facts.notes;
    const bool more_cpus = options.cpus > capacity.cpus;
    if (options.cpus != 0 && options.cpus != capacity.cpus) set_cpus(capacity, options.cpus);
    if (options.memory_bytes != 0) capacity.memory_bytes = options.memory_bytes;
    if (!options.gpus.empty()) {
        TRY(capacity.devices, parse_gpus(options.gpus));
        add_note(notes, "GPUs are declared");
    }
    node.cpuset_alone = more_cpus || options.shares_host;
    if (more_cpus) {
        add_note(notes, "cpuset left alone (declared cpus exceed the host's)");
    } else if (options.shares_host) {
        add_note(notes, "cpuset left alone (several nodes share the host)");
    }
    if (node.hello.name == inventory.hostname) return node;
    node.node_hostname = namespaces.mode != os::NamespaceMode::Impossible;
    if (!node.node_hostname)
        add_note(notes, "node names do not resolve inside jobs (" + namespaces.reason + ')');
    return node;
}

Result<std::vector<api::NodeHello>> parse_emulated_nodes(std::string_view text,
                                                         const std::string& host) {
    std::vector<api::NodeHello> nodes;
    std::size_t number = 0;
    const Now now = host_now();
    for (const std::string_view line : split(text, '\n')) {
        ++number;
        if (trim(line).empty()) continue;
        Result<api::NodeHello> node = parse_emulated_node(line);
        if (!node) return fail(std::move(node).error().in("line " + std::to_string(number)));
        node->facts.host_name = host;
        node->facts.os = "emulated";
        node->facts.version = kVersion;
        node->facts.process_tracking = "none: emulated, no process runs there";
        node->facts.boot_time = node->facts.agent_start = now.wall;
        nodes.push_back(std::move(*node));
    }
    if (nodes.empty()) return fail(ErrorCode::InvalidArgument, "no nodes");
    return nodes;
}

}  // namespace twinyard::agent
