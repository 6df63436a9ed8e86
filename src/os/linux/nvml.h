#pragma once

#include <string>
#include <vector>

#include "os/inventory.h"

namespace twinyard::os {

struct NvmlAnswer {
    std::vector<GpuInfo> gpus;
    std::string note;  ///< Why there are none; empty when there are some.
};

/// Loads NVML, asks for all GPUs, and unloads it. A GPU that does not answer is left out and named
/// in the note.
[[nodiscard]] NvmlAnswer ask_nvml(const std::string& library);

}  // namespace twinyard::os
