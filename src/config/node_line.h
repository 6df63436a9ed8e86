#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/entries.h"

namespace twinyard::config {

/// `gpu:h100:8`: a generic resource of a node.
struct GresItem {
    std::string name;
    std::string type;  ///< Empty: none given.
    std::int64_t count = 1;
    friend bool operator==(const GresItem&, const GresItem&) = default;
};

/// Most devices of one kind on a node. Larger counts (bytes, bandwidth) are read, but are no
/// devices.
inline constexpr std::int64_t kDevicesMax = 1024;

/// name[:type][:no_consume][:count], several of them separated by commas; counts take K, M, G, T,
/// P.
[[nodiscard]] Result<std::vector<GresItem>> parse_gres(std::string_view text);

enum class NodeState : std::uint8_t { Unknown, Down, Drain, Fail, Future, Cloud, External };

/// One NodeName line, defaults applied.
struct NodeLine {
    std::string file;
    std::size_t line = 0;
    std::vector<std::string> names;
    std::vector<std::string> addresses;  ///< Empty, or one a name.
    std::vector<std::string> host_names;

    std::optional<std::uint32_t> cpus, boards, sockets, sockets_per_board, cores_per_socket;
    std::optional<std::uint32_t> threads_per_core;
    std::optional<std::int64_t> real_memory_mb;
    std::optional<std::int64_t> tmp_disk_mb;
    std::vector<GresItem> gres;
    std::vector<std::string> features;
    std::uint32_t weight = 1;
    NodeState state = NodeState::Unknown;
    std::string reason;
    std::uint32_t core_spec_count = 0;
    std::int64_t mem_spec_limit_mb = 0;
    std::string cpu_spec_list;

    // As written, before ranges are expanded.
    std::string names_text, addresses_text, host_names_text;
};

[[nodiscard]] std::span<const Entry<NodeLine>> node_table();

/// UNKNOWN, IDLE, DOWN, DRAIN, FAIL, FAILING, FUTURE, CLOUD …
[[nodiscard]] Result<NodeState> parse_node_state(std::string_view text);

}  // namespace twinyard::config
