#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/id_map.h"
#include "model/node.h"
#include "model/workload.h"

namespace twinyard::model {

/// Amounts that are counted and charged, summed over a request or a placement.
struct Amounts {
    std::int64_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t nodes = 0;
    std::map<std::string, std::int64_t> devices;  ///< By the first part of the class path: "gpu".
    friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// The least that the request asks for. Amounts that follow the node ("all of it") count as 0.
[[nodiscard]] Amounts requested_amounts(const WorkloadSpec& spec);

/// What a placement holds. Nodes that are gone count without the classes of their devices.
[[nodiscard]] Amounts granted_amounts(const Placement& placement, const IdMap<NodePtr>& nodes);

/// "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8": zero amounts are left out; memory in the largest
/// unit that is exact, at least M. Billing is the count of cpus.
[[nodiscard]] std::string amounts_text(const Amounts& amounts);

/// The part of a class path before its first slash.
[[nodiscard]] std::string_view class_root(std::string_view class_path);

}  // namespace twinyard::model
