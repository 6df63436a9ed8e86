#include "os/inventory.h"

#include <hwloc.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "os/files.h"
#include "os/linux/nvml.h"

namespace twinyard::os {

namespace {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

constexpr std::size_t kSmallFileMax = std::size_t{1} << 20;

Result<Topology> load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return fail(ErrorCode::Unavailable, "hwloc does not start");
    Topology topology(raw);
    if (hwloc_topology_load(raw) != 0) {
        return fail(ErrorCode::Unavailable, "hwloc finds no topology");
    }
    return topology;
}

std::vector<int> numbers_of(hwloc_const_bitmap_t set) {
    std::vector<int> numbers;
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
        numbers.push_back(i);
    return numbers;
}

/// CPUs that the cgroup and the affinity leave to us.
Bitmap usable_cpus(hwloc_topology_t topology) {
    Bitmap usable(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
    const Bitmap bound(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(usable.get(), usable.get(), bound.get());
    }
    return usable;
}

std::vector<int> numbers_inside(hwloc_const_bitmap_t set, hwloc_const_bitmap_t usable) {
    const Bitmap both(hwloc_bitmap_alloc());
    hwloc_bitmap_and(both.get(), set, usable);
    return numbers_of(both.get());
}

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
    return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

void read_cores(hwloc_topology_t topology, hwloc_const_bitmap_t usable, HostInventory& host) {
    std::size_t threads = 1;
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
        std::vector<int> cpus = numbers_inside(core->cpuset, usable);
        if (cpus.empty()) continue;
        threads = std::max(threads, cpus.size());
        host.cores.push_back(std::move(cpus));
    }
    // Some virtual machines show no cores: then each CPU is one.
    if (host.cores.empty()) {
        for (const int cpu : host.cpus)
            host.cores.push_back({cpu});
    }
    host.sockets = count_of(topology, HWLOC_OBJ_PACKAGE);
    host.threads_per_core = static_cast<int>(threads);
    host.cores_per_socket = std::max(1, static_cast<int>(host.cores.size()) / host.sockets);
}

void read_numa(hwloc_topology_t topology, hwloc_const_bitmap_t usable, HostInventory& host) {
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        NumaInfo info;
        info.os_index = static_cast<int>(node->os_index);
        info.cpus = numbers_inside(node->cpuset, usable);
        info.memory_bytes = node->attr->numanode.local_memory;
        host.numa.push_back(std::move(info));
    }
}

Status read_topology(HostInventory& host) {
    TRY(const Topology topology, load_topology());
    const Bitmap usable = usable_cpus(topology.get());
    host.cpus = numbers_of(usable.get());
    if (host.cpus.empty()) return fail(ErrorCode::Unavailable, "no CPU may be used");
    read_cores(topology.get(), usable.get(), host);
    read_numa(topology.get(), usable.get(), host);
    hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
    const char* model =
        package != nullptr ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    if (model != nullptr) host.cpu_model = model;
    return {};
}

/// "MemTotal:  16384 kB" in bytes.
std::uint64_t memory_line(const std::string& meminfo, std::string_view key) {
    std::istringstream lines(meminfo);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key)) continue;
        return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024U;
    }
    return 0;
}

std::string os_release_name() {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    std::istringstream lines(read_file("/etc/os-release", kSmallFileMax).value_or(std::string()));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(kKey)) continue;
        std::string name = line.substr(kKey.size());
        std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
        return name;
    }
    return "Linux";
}

void read_names(HostInventory& host) {
    utsname names{};
    ::uname(&names);
    const std::string full = names.nodename;
    host.hostname = full.substr(0, full.find('.'));
    host.kernel = std::string(names.sysname) + ' ' + names.release;
    host.arch = names.machine;
    host.os_name = os_release_name();
}

std::uint64_t disk_bytes(const char* path) {
    struct statvfs info {};
    return ::statvfs(path, &info) == 0 ? std::uint64_t{info.f_blocks} * info.f_frsize : 0;
}

}  // namespace

Result<HostInventory> read_inventory(const InventoryOptions& options) {
    HostInventory host;
    TRY_STATUS(read_topology(host));
    read_names(host);
    host.memory_bytes =
        memory_line(read_file("/proc/meminfo", kSmallFileMax).value_or(std::string()), "MemTotal:");
    host.tmp_disk_bytes = disk_bytes("/tmp");
    NvmlAnswer nvml = ask_nvml(options.nvml_library);
    host.gpus = std::move(nvml.gpus);
    host.gpu_note = std::move(nvml.note);
    return host;
}

HostLoad read_host_load() {
    HostLoad load;
    std::istringstream text(read_file("/proc/loadavg", kSmallFileMax).value_or(std::string()));
    text >> load.load_1m;
    load.memory_free_bytes = memory_line(
        read_file("/proc/meminfo", kSmallFileMax).value_or(std::string()), "MemAvailable:");
    struct sysinfo info {};
    if (::sysinfo(&info) == 0) load.uptime_seconds = static_cast<std::uint64_t>(info.uptime);
    return load;
}

}  // namespace twinyard::os
