// A stand-in for NVIDIA's management library with two H100 joined by two NVLinks, for tests without
// a GPU.

#include <cstdint>
#include <cstdio>

namespace {

constexpr unsigned kGpus = 2;
constexpr int kSuccess = 0;
constexpr int kInvalid = 2;

struct Memory {
    unsigned long long total, free, used;
};
struct Pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

/// A handle is the index plus one.
unsigned index_of(void* device) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

void fill_pci(unsigned index, Pci* pci) {
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 0x1B + index);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    return kSuccess;
}
int nvmlShutdown() {
    return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = kGpus;
    return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (index >= kGpus) return kInvalid;
    *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
    return kSuccess;
}

int nvmlDeviceGetName(void*, char* name, unsigned size) {
    std::snprintf(name, size, "NVIDIA H100 80GB HBM3");
    return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
    std::snprintf(uuid, size, "GPU-00000000-0000-0000-0000-%012u", index_of(device));
    return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
    *memory = {85899345920ULL, 85899345920ULL, 0};
    return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
    fill_pci(index_of(device), pci);
    return kSuccess;
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* minor_number) {
    *minor_number = index_of(device) + 4;
    return kSuccess;
}

int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
    *active = link < 2 ? 1 : 0;
    return link < 4 ? kSuccess : kInvalid;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, Pci* pci) {
    fill_pci(1 - index_of(device), pci);
    return kSuccess;
}

}  // extern "C"
