#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace twinyard::model {

/// One device of a node. Its index on the node is its place in NodeCapacity::devices and never
/// moves while used.
struct Device {
    std::string class_path;  ///< "gpu/h100"
    std::string uuid;
    std::string path;  ///< "/dev/nvidia0"; empty for declared ones.
    std::int64_t memory_bytes = 0;
    std::int32_t numa = -1;
    std::vector<std::uint16_t> links;  ///< Indexes of peers with a direct fast link.
    bool healthy = true;
    friend bool operator==(const Device&, const Device&) = default;
};

/// What a node has: from the configuration where it says so, else from what its agent found.
struct NodeCapacity {
    std::uint32_t boards = 1, sockets = 1, cores_per_socket = 1, threads_per_core = 1;
    std::uint32_t cpus = 1;  ///< Hardware threads that may be given out, numbered from 0.
    std::int64_t memory_bytes = 0;
    std::int64_t tmp_disk_bytes = 0;
    std::vector<Device> devices;
    friend bool operator==(const NodeCapacity&, const NodeCapacity&) = default;
};

/// What the agent tells of its host, for people.
struct NodeFacts {
    std::string host_name, os, arch, version;
    std::string process_tracking;  ///< "cgroup v1: cpuset,memory" …
    std::string notes;  ///< What is not as asked: cpuset left alone, names do not resolve …
    WallTime boot_time{};
    WallTime agent_start{};
    friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

enum class NodeLink : std::uint8_t {
    NoAgent,  ///< None has ever registered (or it was told to leave).
    Responding,
    Silent,  ///< Missed heartbeats; its work goes on as far as we know.
    Lost,    ///< Silent beyond the limit: its members count as unknown.
};

struct Node {
    NodeId id;
    Revision revision = 0;
    std::string name;
    std::string address;
    NodeCapacity capacity;
    NodeFacts facts;
    std::vector<std::pair<std::string, std::string>>
        labels;  ///< Sorted by key; features have an empty value.
    std::uint32_t weight = 1;
    bool emulated = false;
    bool configured =
        true;  ///< Named by the configuration; false: kept only because work is on it.
    NodeLink link = NodeLink::NoAgent;
    bool drain = false;
    bool down = false;  ///< By an administrator or because what it has is less than configured.
    std::string reason;
    std::uint32_t reason_uid = 0;
    WallTime reason_time{};
    friend bool operator==(const Node&, const Node&) = default;
};
using NodePtr = std::shared_ptr<const Node>;

/// May new work start there now?
[[nodiscard]] inline bool is_schedulable(const Node& node) {
    return node.link == NodeLink::Responding && !node.drain && !node.down && node.configured;
}

/// How many grants one user has on a node.
struct UserGrants {
    std::uint32_t uid = 0;
    std::uint32_t grants = 0;
    friend bool operator==(const UserGrants&, const UserGrants&) = default;
};

/// What is in use on a node, from placements; derived, never stored. Signed arithmetic: free may be
/// negative.
struct NodeUse {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::uint32_t grants = 0;
    std::uint32_t completing = 0;          ///< Of those, how many are ending.
    std::vector<std::uint64_t> cpus;       ///< Bit set by cpu number.
    std::vector<std::uint64_t> devices;    ///< Bit set by device index.
    std::uint32_t whole_node = 0;          ///< Grants that exclude others.
    std::uint32_t only_user = 0xffffffff;  ///< Grants that exclude other users: whose.
    std::uint32_t same_user = 0;           ///< How many exclude other users.
    std::vector<UserGrants> users;         ///< Whose grants, sorted by uid.
    friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

}  // namespace twinyard::model
