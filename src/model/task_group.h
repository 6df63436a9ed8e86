#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/resources.h"

namespace twinyard::model {

inline constexpr std::uint32_t kNoMaximum = 0xffffffff;

/// Both ends included.
struct Range {
    std::uint32_t min = 1;
    std::uint32_t max = 1;
    friend bool operator==(const Range&, const Range&) = default;
};

/// Who else may be on a node that this group uses.
enum class Share : std::uint8_t { Any, WholeNode, SameUser };

enum class LabelOp : std::uint8_t { In, NotIn, Exists, DoesNotExist, Greater, Less };

/// One test of a node's labels. Features are labels with an empty value.
struct LabelTest {
    std::string key;
    LabelOp op = LabelOp::Exists;
    std::vector<std::string> values;
    friend bool operator==(const LabelTest&, const LabelTest&) = default;
};

/// All tests hold.
struct NodeTerm {
    std::vector<LabelTest> all;
    friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

struct PreferredTerm {
    std::int32_t weight = 1;
    NodeTerm term;
    friend bool operator==(const PreferredTerm&, const PreferredTerm&) = default;
};

/// Keep away from, near to, or evenly spread over workloads whose labels match, seen at one
/// topology level.
struct Affinity {
    enum class Kind : std::uint8_t { Together, Apart, Spread };
    Kind kind = Kind::Apart;
    bool required = true;
    std::string level;  ///< "node" or a named level of the topology.
    NodeTerm workloads;
    std::uint32_t max_skew = 1;  ///< Spread only.
    friend bool operator==(const Affinity&, const Affinity&) = default;
};

/// Where a group may run. Empty: anywhere.
struct Where {
    std::vector<NodeTerm> any_of;   ///< A disjunction; empty: no demand.
    bool same_alternative = false;  ///< All nodes satisfy the same term of any_of.
    std::vector<PreferredTerm> preferred;
    std::vector<std::string>
        include;  ///< Each of these nodes is part of the placement; others may be too.
    std::vector<std::string> exclude;
    std::vector<Affinity> affinity;
    std::optional<std::uint32_t> switches_max;  ///< At most so many leaf switches …
    std::optional<Millis> switches_wait;  ///< … for so long; afterwards any (none: for ever).
    friend bool operator==(const Where&, const Where&) = default;
};

/// What each member gets for itself out of the node's grant.
struct Binding {
    bool devices_to_members = false;
    friend bool operator==(const Binding&, const Binding&) = default;
};

/// Amounts that follow the node: "all of it", whatever it has.
struct TakeAll {
    bool cpus = false;
    bool memory = false;
    bool devices = false;
    friend bool operator==(const TakeAll&, const TakeAll&) = default;
};

/// A set of equal members (tasks, Pods). Four ways to ask, added up on each node used:
/// per_member × members there + per_node + a part of total.
struct TaskGroup {
    std::string name;
    Range members;
    Resources per_member;
    Resources per_node;
    Resources total;
    TakeAll take_all;
    Range nodes{1, kNoMaximum};
    Range members_per_node{1, kNoMaximum};
    Share share = Share::Any;
    Where where;
    Binding binding;
    friend bool operator==(const TaskGroup&, const TaskGroup&) = default;
};

}  // namespace twinyard::model
