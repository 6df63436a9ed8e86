#pragma once

#include <string>

#include "model/node.h"

namespace twinyard::sched {

/// Equal for nodes of equal capacity and labels (health, uuids and paths of devices do not count).
[[nodiscard]] std::string node_class_key(const model::Node& node);

}  // namespace twinyard::sched
