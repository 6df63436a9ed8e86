#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/plan.h"
#include "sched/place.h"

namespace twinyard::sched {

/// Sums over a set of nodes, for the numbers of verdicts.
struct Amounts {
    std::int64_t nodes = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory = 0;
    std::vector<std::int64_t> devices;       ///< By column.
    std::vector<std::int64_t> device_nodes;  ///< By column: nodes that have one.
};
[[nodiscard]] Amounts sum_up(const Room& room, const NodeSet& nodes);

/// Who stands before it in its partition, and still waits.
struct Ahead {
    std::uint32_t count = 0;
    model::WorkloadId first;
    std::string first_name;  ///< "job 12" or "workload 7".
};
/// Its number if it has one, else its id.
[[nodiscard]] std::string name_of(const model::Workload& workload);

/// What a verdict is made of. `free` and `total` are of the partition's nodes that may be used.
struct Question {
    model::Wait wait = model::Wait::None;
    const Index& index;
    const Request& request;
    std::uint32_t partition = 0;
    const Amounts& free;
    const Amounts& total;
    std::uint32_t fitting_nodes = 0;   ///< That could serve the first group now.
    std::uint32_t possible_nodes = 0;  ///< The same if nothing ran.
    Ahead ahead;
    std::optional<Millis> starts_in;  ///< Of a reserved start.
    const NodeSet& unavailable;       ///< Nodes of the partition that may not be used now.
};

/// A verdict with its numbers and one sentence, in the model's words.
[[nodiscard]] model::VerdictPtr explain(const Question& question);

/// One that needs no numbers: held, begin time, back-off.
[[nodiscard]] model::VerdictPtr explain(model::Wait wait);

}  // namespace twinyard::sched
