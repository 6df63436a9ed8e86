#include <algorithm>

#include "model/cluster_config.h"
#include "model/plan.h"
#include "model/resources.h"
#include "model/snapshot.h"

namespace twinyard::model {

bool is_of_class(std::string_view path, std::string_view class_path) {
    if (!path.starts_with(class_path)) return false;
    return path.size() == class_path.size() || path[class_path.size()] == '/';
}

const Partition* find_partition(const ClusterConfig& config, std::string_view name) {
    const auto found = std::ranges::find(config.partitions, name, &Partition::name);
    return found == config.partitions.end() ? nullptr : &*found;
}

const Qos* find_qos(const ClusterConfig& config, std::string_view name) {
    const auto found = std::ranges::find(config.qos, name, &Qos::name);
    return found == config.qos.end() ? nullptr : &*found;
}

std::optional<Millis> default_limit(const Partition& partition) {
    return partition.time_default ? partition.time_default : partition.time_max;
}

}  // namespace twinyard::model
