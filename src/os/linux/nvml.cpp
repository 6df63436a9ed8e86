#include "os/linux/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include "os/files.h"

namespace twinyard::os {

namespace {

// The few declarations of NVML's stable binary interface that we need. The library is never linked.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kLinksMax = 18;
constexpr unsigned kGpusMax = 256;

struct Memory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

struct PciInfo {
    char bus_id_legacy[16] = {};
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned device_id = 0;
    unsigned subsystem_id = 0;
    char bus_id[32] = {};
};

/// The functions, looked up by name. Those that may be absent in an old driver are null then.
struct Functions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Device*) = nullptr;
    int (*name)(Device, char*, unsigned) = nullptr;
    int (*uuid)(Device, char*, unsigned) = nullptr;
    int (*memory)(Device, Memory*) = nullptr;
    int (*pci)(Device, PciInfo*) = nullptr;
    int (*minor)(Device, unsigned*) = nullptr;
    int (*link_state)(Device, unsigned, unsigned*) = nullptr;
    int (*link_peer)(Device, unsigned, PciInfo*) = nullptr;

    [[nodiscard]] bool complete() const {
        return init != nullptr && shutdown != nullptr && count != nullptr && handle != nullptr &&
               name != nullptr && uuid != nullptr && memory != nullptr && pci != nullptr;
    }
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
}

Functions look_up_all(void* library) {
    Functions nvml;
    look_up(library, "nvmlInit_v2", nvml.init);
    look_up(library, "nvmlShutdown", nvml.shutdown);
    look_up(library, "nvmlDeviceGetCount_v2", nvml.count);
    look_up(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle);
    look_up(library, "nvmlDeviceGetName", nvml.name);
    look_up(library, "nvmlDeviceGetUUID", nvml.uuid);
    look_up(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
    look_up(library, "nvmlDeviceGetPciInfo_v3", nvml.pci);
    look_up(library, "nvmlDeviceGetMinorNumber", nvml.minor);
    look_up(library, "nvmlDeviceGetNvLinkState", nvml.link_state);
    look_up(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.link_peer);
    return nvml;
}

/// A text that NVML wrote; it ends at the buffer's end even if the library forgot the zero.
template <std::size_t Size>
std::string text_of(const char (&buffer)[Size]) {
    return {buffer, std::find(buffer, buffer + Size, '\0')};
}

/// The kernel names PCI devices with four digits of domain and small letters: "0000:1b:00.0".
int numa_node_of(const std::string& pci) {
    std::string name = pci.size() > 12 ? pci.substr(pci.size() - 12) : pci;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (name.find("..") != std::string::npos || name.find('/') != std::string::npos) return -1;
    const Result<std::string> text = read_file("/sys/bus/pci/devices/" + name + "/numa_node", 64);
    int node = -1;
    if (text) std::from_chars(text->data(), text->data() + text->size(), node);
    return node;
}

bool ask_gpu(const Functions& nvml, Device device, GpuInfo& gpu) {
    char name[96] = {};
    char uuid[96] = {};
    Memory memory;
    PciInfo pci;
    const bool answered = nvml.name(device, name, sizeof name) == kSuccess &&
                          nvml.uuid(device, uuid, sizeof uuid) == kSuccess &&
                          nvml.memory(device, &memory) == kSuccess &&
                          nvml.pci(device, &pci) == kSuccess;
    if (!answered) return false;
    gpu.name = text_of(name);
    gpu.type = gpu_type_of(gpu.name);
    gpu.uuid = text_of(uuid);
    gpu.memory_bytes = memory.total;
    gpu.pci = text_of(pci.bus_id);
    gpu.numa_node = numa_node_of(gpu.pci);
    unsigned minor_number = 0;
    if (nvml.minor != nullptr && nvml.minor(device, &minor_number) == kSuccess) {
        gpu.minor = static_cast<int>(minor_number);
    }
    return true;
}

/// PCI addresses at the other ends of the active links.
std::vector<std::string> link_ends(const Functions& nvml, Device device) {
    std::vector<std::string> ends;
    if (nvml.link_state == nullptr || nvml.link_peer == nullptr) return ends;
    for (unsigned link = 0; link < kLinksMax; ++link) {
        unsigned active = 0;
        PciInfo peer;
        if (nvml.link_state(device, link, &active) != kSuccess || active == 0) continue;
        if (nvml.link_peer(device, link, &peer) == kSuccess) ends.push_back(text_of(peer.bus_id));
    }
    return ends;
}

void resolve_links(const std::map<int, std::vector<std::string>>& ends,
                   std::vector<GpuInfo>& gpus) {
    std::map<std::string, int> index_by_pci;
    for (const GpuInfo& gpu : gpus)
        index_by_pci[gpu.pci] = gpu.index;
    for (GpuInfo& gpu : gpus) {
        for (const std::string& pci : ends.at(gpu.index)) {
            const auto peer = index_by_pci.find(pci);
            if (peer != index_by_pci.end()) gpu.nvlink_peers.push_back(peer->second);
        }
        std::sort(gpu.nvlink_peers.begin(), gpu.nvlink_peers.end());
    }
}

NvmlAnswer ask_all(const Functions& nvml) {
    NvmlAnswer answer;
    unsigned count = 0;
    if (nvml.count(&count) != kSuccess) return {{}, "NVML gives no count of GPUs"};
    if (count == 0) return {{}, "no NVIDIA GPU"};
    std::map<int, std::vector<std::string>> ends;
    for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
        Device device = nullptr;
        GpuInfo gpu;
        gpu.index = static_cast<int>(i);
        if (nvml.handle(i, &device) != kSuccess || !ask_gpu(nvml, device, gpu)) {
            answer.note += (answer.note.empty() ? "" : "; ");
            answer.note += "GPU " + std::to_string(i) + " does not answer";
            continue;
        }
        ends[gpu.index] = link_ends(nvml, device);
        answer.gpus.push_back(std::move(gpu));
    }
    resolve_links(ends, answer.gpus);
    return answer;
}

struct CloseLibrary {
    void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

NvmlAnswer ask_nvml(const std::string& library) {
    const std::unique_ptr<void, CloseLibrary> handle(
        ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle) return {{}, "no NVIDIA driver"};
    const Functions nvml = look_up_all(handle.get());
    if (!nvml.complete()) return {{}, library + " lacks functions of NVML"};
    if (nvml.init() != kSuccess) return {{}, "NVML does not start: driver not loaded"};
    NvmlAnswer answer = ask_all(nvml);
    nvml.shutdown();
    return answer;
}

}  // namespace twinyard::os
