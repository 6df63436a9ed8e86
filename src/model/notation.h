#pragma once

#include <string>

#include "model/task_group.h"

namespace twinyard::model {

/// A task group in one line, for tables of examples, tests and explanations:
///   `members 16 on 16 nodes, 1 a node; member: cpu 1; node: 8 gpu/h100; all memory`
/// Only what is asked is said; ranges are `2..4`, and `2..` has no upper end.
[[nodiscard]] std::string to_text(const TaskGroup& group);

}  // namespace twinyard::model
