#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/entries.h"
#include "model/cluster_config.h"

namespace twinyard::config {

/// Sets one member of a memory rule from megabytes; 0 and UNLIMITED clear it.
template <auto Rule, auto Part>
Status set_memory(ClassOf<Rule>& target, std::string_view text) {
    constexpr std::int64_t kMegabytesMax = std::int64_t{1} << 40;
    TRY(const std::optional<std::int64_t> megabytes, parse_limit(text, 0, kMegabytesMax));
    std::optional<std::int64_t>& place = (target.*Rule).*Part;
    place.reset();
    if (megabytes.value_or(0) > 0) place = *megabytes * kMiB;
    return {};
}

template <auto Rule, auto Part>
std::string show_memory(const ClassOf<Rule>& target) {
    const std::optional<std::int64_t>& bytes = (target.*Rule).*Part;
    return bytes ? std::to_string(*bytes / kMiB) : "UNLIMITED";
}

/// How many of the three are set: Slurm takes one at most.
[[nodiscard]] inline int set_count(const model::MemoryRule& rule) {
    return int{rule.per_node.has_value()} + int{rule.per_cpu.has_value()} +
           int{rule.per_gpu.has_value()};
}

}  // namespace twinyard::config
