#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/resources.h"

namespace twinyard::slurm {

/// "gres/gpu:h100:8"; empty if nothing is asked.
[[nodiscard]] std::string devices_text(const std::vector<model::DeviceRequest>& devices);

/// "gpu:h100:2(IDX:0-1)" for the devices with these indexes; empty if there are none.
[[nodiscard]] std::string granted_gres(const std::vector<model::Device>& devices,
                                       const std::vector<std::uint16_t>& indexes);

/// Devices as Slurm's gres: "gpu:h100:8"; empty if there are none.
[[nodiscard]] std::string gres_text(const std::vector<model::Device>& devices);

}  // namespace twinyard::slurm
