#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/snapshot.h"
#include "model/workload.h"

namespace twinyard::slurm {

/// The least that a spec asks for, in cpus.
[[nodiscard]] std::int64_t requested_cpus(const model::WorkloadSpec& spec);
[[nodiscard]] std::int64_t granted_cpus(const model::Placement& placement);

/// "gres/gpu:h100:8"; empty if nothing is asked.
[[nodiscard]] std::string devices_text(const std::vector<model::DeviceRequest>& devices);

/// "gpu:h100:2(IDX:0-1)" for the devices with these indexes; empty if there are none.
[[nodiscard]] std::string granted_gres(const std::vector<model::Device>& devices,
                                       const std::vector<std::uint16_t>& indexes);

/// "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8,gres/gpu:h100=8": amounts of one kind of thing.
struct TresAmounts {
    std::int64_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t nodes = 0;
    std::vector<model::DeviceRequest> devices;  ///< Any order; classes may repeat.
};
[[nodiscard]] std::string tres_text(const TresAmounts& amounts);

/// "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8,gres/gpu:h100=8": what is asked, and what was given.
[[nodiscard]] std::string requested_tres(const model::WorkloadSpec& spec);
[[nodiscard]] std::string allocated_tres(const model::Snapshot& snapshot,
                                         const model::Placement& placement);

/// Devices as Slurm's gres: "gpu:h100:8"; empty if there are none.
[[nodiscard]] std::string gres_text(const std::vector<model::Device>& devices);

}  // namespace twinyard::slurm
