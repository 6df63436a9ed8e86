#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::os {

/// One GPU of the host.
struct GpuInfo {
    int index = 0;     ///< NVML's order, which is by PCI address.
    int minor = -1;    ///< N of /dev/nvidiaN, -1 when unknown.
    std::string uuid;  ///< "GPU-..."
    std::string name;  ///< As the driver says it: "NVIDIA H100 80GB HBM3".
    std::string type;  ///< As a gres type: "h100".
    std::string pci;   ///< "00000000:1B:00.0"
    std::uint64_t memory_bytes = 0;
    int numa_node = -1;             ///< -1 when unknown.
    std::vector<int> nvlink_peers;  ///< Indexes of GPUs joined by NVLink, ascending, one entry a
                                    ///< link; switches left out.
};

/// One NUMA node with its processing units (Linux cpu numbers).
struct NumaInfo {
    int os_index = 0;
    std::vector<int> cpus;
    std::uint64_t memory_bytes = 0;
};

/// What a host has, as far as this process may use it.
struct HostInventory {
    std::string hostname;  ///< Without domain.
    std::string kernel;    ///< "Linux 6.1.0-18-amd64"
    std::string os_name;   ///< PRETTY_NAME of os-release: "Debian GNU/Linux 12 (bookworm)"
    std::string arch;      ///< "x86_64"
    std::string cpu_model;
    int sockets = 1;
    int cores_per_socket = 1;
    int threads_per_core = 1;
    std::vector<int> cpus;                ///< Linux cpu numbers we may run on, ascending.
    std::vector<std::vector<int>> cores;  ///< The same, grouped by physical core.
    std::vector<NumaInfo> numa;
    std::uint64_t memory_bytes = 0;
    std::uint64_t tmp_disk_bytes = 0;  ///< Of /tmp, total.
    std::vector<GpuInfo> gpus;
    std::string
        gpu_note;  ///< Why there are no GPUs ("no NVIDIA driver: ..."), empty when there are some.
};

struct InventoryOptions {
    /// Where NVML is looked for; the default is the dynamic linker's own search.
    std::string nvml_library = "libnvidia-ml.so.1";
};

/// Asks the host (hwloc, /proc, NVML by dlopen). Takes tens of milliseconds; any thread, one at a
/// time. No GPU or no driver is normal and no error.
[[nodiscard]] Result<HostInventory> read_inventory(const InventoryOptions& options = {});

/// What changes while the host runs.
struct HostLoad {
    double load_1m = 0;
    std::uint64_t memory_free_bytes = 0;  ///< MemAvailable.
    std::uint64_t uptime_seconds = 0;
};
[[nodiscard]] HostLoad read_host_load();

/// A gres type of a GPU's marketing name: "NVIDIA H100 80GB HBM3" → "h100", "NVIDIA GeForce RTX
/// 3090" → "rtx_3090". Lower case, [a-z0-9_] only, "gpu" when nothing is left. Pure.
[[nodiscard]] std::string gpu_type_of(std::string_view name);

}  // namespace twinyard::os
