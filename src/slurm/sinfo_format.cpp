// sinfo: nodes that look alike share a line. Which fields must be alike follows from the columns,
// as in Slurm: partitions share lines when no column tells them apart, sizes only differ with -e.
#include "slurm/sinfo_format.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "base/duration_text.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/words.h"

namespace twinyard::slurm {

namespace {

using api::NodeRow;
using api::PartitionRow;

struct Cell {
    const NodeGroup& group;
    const TextContext& context;
};
using TextOf = std::string (*)(const Cell&);

/// What of a field decides about sharing a line.
enum class Match : std::uint8_t {
    Nothing,    ///< Counts and lists.
    Partition,  ///< Lines are never shared by partitions.
    Node,       ///< Nodes share a line only if the text is the same.
    Size,       ///< The same, with -e only; else "8+" stands for what differs.
    EachNode,   ///< Every node has a line of its own.
};

std::string number(std::int64_t value) {
    return std::to_string(value);
}
std::string or_null(const std::string& text) {
    return text.empty() ? "(null)" : text;
}
std::string or_na(const std::string& text) {
    return text.empty() ? "N/A" : text;
}

// ---- partitions

template <class Print>
std::string of_partition(const Cell& c, Print print) {
    return c.group.partition == nullptr ? "N/A" : print(*c.group.partition);
}

std::string partition_star(const Cell& c) {
    return of_partition(c,
                        [](const PartitionRow& p) { return p.name + (p.is_default ? "*" : ""); });
}
std::string partition_name(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) { return p.name; });
}
std::string available(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        return p.state == "INACTIVE" ? std::string("inact") : to_lower(p.state);
    });
}
std::string time_max(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        return p.time_max_s < 0 ? "infinite" : format_time_limit(Seconds{p.time_max_s});
    });
}
std::string time_default(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) -> std::string {
        if (p.time_default_s == -2) return "n/a";
        return p.time_default_s < 0 ? "infinite" : format_time_limit(Seconds{p.time_default_s});
    });
}
std::string job_size(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        const std::string min = number(std::max<std::uint32_t>(p.nodes_min, 1));
        if (p.nodes_max < 0) return min + "-infinite";
        const std::string max = number(p.nodes_max);
        return min == max ? max : min + "-" + max;
    });
}
std::string root_only(const Cell& c) {
    return of_partition(
        c, [](const PartitionRow& p) { return std::string(p.root_only ? "yes" : "no"); });
}
std::string oversubscribe(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        return p.oversubscribe == "EXCLUSIVE" ? std::string("EXCLUSIV") : p.oversubscribe;
    });
}
std::string groups(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        return p.allow_groups == "ALL" ? std::string("all") : p.allow_groups;
    });
}
std::string cpus_per_node_max(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) {
        return p.cpus_per_node_max < 0 ? std::string("UNLIMITED") : number(p.cpus_per_node_max);
    });
}
std::string tier(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) { return number(p.tier); });
}
std::string job_factor(const Cell& c) {
    return of_partition(c, [](const PartitionRow& p) { return number(p.job_factor); });
}
std::string everyone(const Cell&) {
    return "all";
}
std::string off(const Cell&) {
    return "OFF";
}
std::string cluster(const Cell& c) {
    return c.context.cluster;
}

// ---- nodes

const NodeRow* first(const Cell& c) {
    return c.group.nodes.empty() ? nullptr : c.group.nodes.front();
}

template <std::string NodeRow::*Member>
std::string list(const Cell& c) {
    std::vector<std::string> names;
    for (const NodeRow* node : c.group.nodes)
        names.push_back(node->*Member);
    return fold_hostlist_sorted(names);
}

template <std::string NodeRow::*Member>
std::string text_or_null(const Cell& c) {
    return first(c) == nullptr ? "(null)" : or_null(first(c)->*Member);
}

/// "8", or "8+" where the group's nodes differ.
template <auto Member>
std::string size(const Cell& c) {
    if (c.group.nodes.empty()) return "0";
    auto least = c.group.nodes.front()->*Member;
    bool differ = false;
    for (const NodeRow* node : c.group.nodes) {
        differ |= node->*Member != c.group.nodes.front()->*Member;
        least = std::min(least, node->*Member);
    }
    return number(static_cast<std::int64_t>(least)) + (differ ? "+" : "");
}

std::string node_count(const Cell& c) {
    return number(static_cast<std::int64_t>(c.group.nodes.size()));
}

bool is_busy(const NodeRow& node) {
    return node.base_state == "ALLOCATED" || node.base_state == "MIXED" || node.completing;
}

bool is_out(const NodeRow& node) {
    return node.drain || node.down || node.base_state == "DOWN" || node.base_state == "UNKNOWN";
}

struct Counts {
    std::int64_t allocated = 0, idle = 0, other = 0;
    [[nodiscard]] std::string all() const {
        return number(allocated) + "/" + number(idle) + "/" + number(other) + "/" +
               number(allocated + idle + other);
    }
};

Counts count_nodes(const Cell& c) {
    Counts counts;
    for (const NodeRow* node : c.group.nodes) {
        if (is_busy(*node) && node->base_state != "DOWN") {
            ++counts.allocated;
        } else if (is_out(*node)) {
            ++counts.other;
        } else {
            ++counts.idle;
        }
    }
    return counts;
}

std::string cpus_state(const Cell& c) {
    Counts counts;
    for (const NodeRow* node : c.group.nodes) {
        const std::int64_t rest = std::int64_t{node->cpus} - node->cpus_alloc;
        counts.allocated += node->cpus_alloc;
        (is_out(*node) ? counts.other : counts.idle) += rest;
    }
    return counts.all();
}

std::string state_compact(const Cell& c) {
    return first(c) == nullptr ? "n/a" : node_state_compact(*first(c));
}
std::string state_long(const Cell& c) {
    return first(c) == nullptr ? "n/a" : node_state_long(*first(c));
}
std::string state_complete(const Cell& c) {
    return first(c) == nullptr ? "n/a" : to_lower(node_state_flags(*first(c)));
}
std::string socket_core_thread(const Cell& c) {
    return size<&NodeRow::sockets>(c) + ":" + size<&NodeRow::cores_per_socket>(c) + ":" +
           size<&NodeRow::threads_per_core>(c);
}
std::string load(const Cell& c) {
    if (first(c) == nullptr || first(c)->load < 0) return "N/A";
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), "%.2f", first(c)->load);
    return out.data();
}
std::string free_memory(const Cell& c) {
    return first(c) == nullptr || first(c)->memory_free_mb < 0 ? "N/A"
                                                               : size<&NodeRow::memory_free_mb>(c);
}
std::string reason(const Cell& c) {
    return first(c) == nullptr || first(c)->reason.empty() ? "none" : first(c)->reason;
}
std::string reason_user(const Cell& c) {
    const NodeRow* node = first(c);
    if (node == nullptr || node->reason_ms == 0) return "Unknown";
    return c.context.user_name ? c.context.user_name(node->reason_uid) : number(node->reason_uid);
}
std::string reason_user_long(const Cell& c) {
    const NodeRow* node = first(c);
    if (node == nullptr || node->reason_ms == 0) return "Unknown";
    return reason_user(c) + "(" + number(node->reason_uid) + ")";
}
std::string reason_time(const Cell& c) {
    const NodeRow* node = first(c);
    return date_text(c.context.calendar,
                     node == nullptr ? 0 : node->reason_ms,
                     "Unknown",
                     c.context.time_format,
                     c.context.now_ms);
}
std::string version(const Cell& c) {
    return first(c) == nullptr ? "N/A" : or_na(first(c)->version);
}
std::string nothing(const Cell&) {
    return "(null)";
}
std::string blank(const Cell&) {
    return "";
}

struct Field {
    FieldName name;
    TextOf text;
    Match match;
};

constexpr auto kFields = std::to_array<Field>({
    {{'a', "available", "AVAIL"}, available, Match::Partition},
    {{'A', "nodeai", "NODES(A/I)"},
     [](const Cell& c) {
         const Counts counts = count_nodes(c);
         return number(counts.allocated) + "/" + number(counts.idle);
     },
     Match::Nothing},
    {{'b', "features_act", "ACTIVE_FEATURES"}, text_or_null<&NodeRow::features>, Match::Node},
    {{'B', "maxcpuspernode", "MAX_CPUS_PER_NODE"}, cpus_per_node_max, Match::Partition},
    {{'c', "cpus", "CPUS"}, size<&NodeRow::cpus>, Match::Size},
    {{'C', "cpusstate", "CPUS(A/I/O/T)"}, cpus_state, Match::Nothing},
    {{'d', "disk", "TMP_DISK"}, size<&NodeRow::tmp_disk_mb>, Match::Size},
    {{'D', "nodes", "NODES"}, node_count, Match::Nothing},
    {{'e', "freemem", "FREE_MEM"}, free_memory, Match::Size},
    {{'E', "reason", "REASON"}, reason, Match::Node},
    {{'f', "features", "AVAIL_FEATURES"}, text_or_null<&NodeRow::features>, Match::Node},
    {{'F', "nodeaiot", "NODES(A/I/O/T)"},
     [](const Cell& c) { return count_nodes(c).all(); },
     Match::Nothing},
    {{'g', "groups", "GROUPS"}, groups, Match::Partition},
    {{'G', "gres", "GRES"}, text_or_null<&NodeRow::gres>, Match::Node},
    {{'h', "oversubscribe", "OVERSUBSCRIBE"}, oversubscribe, Match::Partition},
    {{'H', "timestamp", "TIMESTAMP"}, reason_time, Match::Node},
    {{'i', "reservation", "RESERVATION"}, blank, Match::Nothing},
    {{'I', "priorityjobfactor", "PRIO_JOB_FACTOR"}, job_factor, Match::Partition},
    {{'l', "time", "TIMELIMIT"}, time_max, Match::Partition},
    {{'L', "defaulttime", "DEFAULTTIME"}, time_default, Match::Partition},
    {{'m', "memory", "MEMORY"}, size<&NodeRow::memory_mb>, Match::Size},
    {{'M', "preemptmode", "PREEMPT_MODE"}, off, Match::Partition},
    {{'n', "nodehost", "HOSTNAMES"}, list<&NodeRow::host_name>, Match::EachNode},
    {{'N', "nodelist", "NODELIST"}, list<&NodeRow::name>, Match::Nothing},
    {{'o', "nodeaddr", "NODE_ADDR"}, list<&NodeRow::address>, Match::EachNode},
    {{'O', "cpusload", "CPU_LOAD"}, load, Match::Size},
    {{'p', "prioritytier", "PRIO_TIER"}, tier, Match::Partition},
    {{'P', "partition", "PARTITION"}, partition_star, Match::Partition},
    {{'r', "root", "ROOT"}, root_only, Match::Partition},
    {{'R', "partitionname", "PARTITION"}, partition_name, Match::Partition},
    {{'s', "size", "JOB_SIZE"}, job_size, Match::Partition},
    {{'S', "allocnodes", "ALLOCNODES"}, everyone, Match::Partition},
    {{'t', "statecompact", "STATE"}, state_compact, Match::Node},
    {{'T', "statelong", "STATE"}, state_long, Match::Node},
    {{'u', "user", "USER"}, reason_user, Match::Node},
    {{'U', "userlong", "USER"}, reason_user_long, Match::Node},
    {{'v', "version", "VERSION"}, version, Match::Node},
    {{'V', "cluster", "CLUSTER"}, cluster, Match::Nothing},
    {{'w', "weight", "WEIGHT"}, size<&NodeRow::weight>, Match::Size},
    {{'X', "sockets", "SOCKETS"}, size<&NodeRow::sockets>, Match::Size},
    {{'Y', "cores", "CORES"}, size<&NodeRow::cores_per_socket>, Match::Size},
    {{'z', "socketcorethread", "S:C:T"}, socket_core_thread, Match::Size},
    {{'Z', "threads", "THREADS"}, size<&NodeRow::threads_per_core>, Match::Size},
    {{0, "allocmem", "ALLOCMEM"}, size<&NodeRow::memory_alloc_mb>, Match::Size},
    {{0, "comment", "COMMENT"}, nothing, Match::Nothing},
    {{0, "extra", "EXTRA"}, nothing, Match::Nothing},
    {{0, "gresused", "GRES_USED"}, text_or_null<&NodeRow::gres_used>, Match::Node},
    {{0, "port", "PORT"}, [](const Cell&) { return std::string("0"); }, Match::Nothing},
    {{0, "priority", "PRIO_TIER"}, tier, Match::Partition},
    {{0, "statecomplete", "STATECOMPLETE"}, state_complete, Match::Node},
});

constexpr auto kNames = [] {
    std::array<FieldName, kFields.size()> names{};
    for (std::size_t i = 0; i < kFields.size(); ++i)
        names[i] = kFields[i].name;
    return names;
}();

// ---- folding

/// The fields of a layout that tell lines apart.
struct Keys {
    bool partition = false;
    bool each_node = false;
    std::vector<TextOf> texts;
};

Keys keys_of(const Layout& layout, const SinfoOptions& options) {
    Keys keys;
    keys.each_node = options.by_node;
    for (const Column& column : layout.columns) {
        if (column.field == Column::kLiteral) continue;
        const Field& field = kFields[column.field];
        keys.partition |= field.match == Match::Partition;
        keys.each_node |= field.match == Match::EachNode;
        const bool tells = (field.match == Match::Node && !options.summary) ||
                           (field.match == Match::Size && options.exact);
        if (tells) keys.texts.push_back(field.text);
    }
    return keys;
}

/// The line that a node belongs to.
using LineKey = std::vector<std::string>;

LineKey line_of(const Keys& keys,
                const PartitionRow* partition,
                const NodeRow& node,
                const TextContext& context) {
    LineKey key;
    if (keys.partition && partition != nullptr) key.push_back(partition->name);
    if (keys.each_node) key.push_back(node.name);
    const NodeGroup alone{partition, {&node}};
    for (const TextOf text : keys.texts)
        key.push_back(text({alone, context}));
    return key;
}

class Folder {
  public:
    Folder(const Keys& keys, const TextContext& context) : keys_(keys), context_(context) {}

    void add(const PartitionRow* partition, const NodeRow& node) {
        if (!keys_.partition && !seen_.insert(&node).second) return;
        const auto [at, is_new] =
            lines_.try_emplace(line_of(keys_, partition, node, context_), groups_.size());
        if (is_new) groups_.push_back({partition, {}});
        groups_[at->second].nodes.push_back(&node);
    }
    void add_empty(const PartitionRow& partition) {
        if (keys_.partition && !keys_.each_node) groups_.push_back({&partition, {}});
    }
    [[nodiscard]] std::vector<NodeGroup> take() { return std::move(groups_); }

  private:
    const Keys& keys_;
    const TextContext& context_;
    std::map<LineKey, std::size_t> lines_;
    std::set<const NodeRow*> seen_;
    std::vector<NodeGroup> groups_;
};

// ---- order

/// Slurm sorts states by their numbers, flags above base states.
int state_number(const NodeGroup& group) {
    if (group.nodes.empty()) return -1;
    const NodeRow& node = *group.nodes.front();
    int base = 0;
    if (node.down || node.base_state == "DOWN") {
        base = 1;
    } else if (node.base_state == "IDLE") {
        base = 2;
    } else if (node.base_state == "ALLOCATED") {
        base = 3;
    } else if (node.base_state == "MIXED") {
        base = 5;
    }
    return base + (node.drain ? 0x200 : 0) + (node.completing ? 0x400 : 0) +
           (node.no_respond ? 0x800 : 0) + (node.planned ? 0x1000 : 0);
}

/// Node names in the order of their numbers: n2 before n10.
std::strong_ordering compare_names(const NodeGroup& a, const NodeGroup& b) {
    const std::string_view left = a.nodes.empty() ? "" : std::string_view(a.nodes.front()->name);
    const std::string_view right = b.nodes.empty() ? "" : std::string_view(b.nodes.front()->name);
    const auto stem = [](std::string_view name) {
        while (!name.empty() && is_digit(name.back()))
            name.remove_suffix(1);
        return name;
    };
    if (const auto diff = stem(left) <=> stem(right); diff != 0) return diff;
    if (const auto diff = left.size() <=> right.size(); diff != 0) return diff;
    return left <=> right;
}

std::strong_ordering compare(const SortKey& key,
                             const NodeGroup& a,
                             const NodeGroup& b,
                             const TextContext& context) {
    const Field& field = kFields[key.field];
    switch (field.name.letter) {
        case 't':
        case 'T':
            return state_number(a) <=> state_number(b);
        case 'N':
        case 'n':
            return compare_names(a, b);
        case 'D':
            return a.nodes.size() <=> b.nodes.size();
        case 'P':
        case 'R':
            // Rows of one span: their addresses are in the order of the configuration.
            if (key.by_order) return std::compare_three_way{}(a.partition, b.partition);
            [[fallthrough]];
        default:
            return field.text({a, context}) <=> field.text({b, context});
    }
}

}  // namespace

std::span<const FieldName> sinfo_fields() {
    return kNames;
}

Layout sinfo_layout(std::string_view format) {
    return parse_letter_format(kNames, format, "node");
}

Layout sinfo_name_layout(std::string_view format) {
    return parse_name_format(kNames, format, "node");
}

Result<std::vector<NodeGroup>> group_nodes(std::span<const NodeRow> nodes,
                                           std::span<const PartitionRow> partitions,
                                           const Layout& layout,
                                           const SinfoOptions& options,
                                           const TextContext& context) {
    const std::string_view default_sort = options.by_node ? "N" : "#P,-t";
    TRY(const std::vector<SortKey> sort,
        parse_sort(kNames, options.sort.empty() ? default_sort : options.sort, "node"));
    std::map<std::string_view, const NodeRow*> by_name;
    for (const NodeRow& node : nodes)
        by_name.emplace(node.name, &node);
    const Keys keys = keys_of(layout, options);
    Folder folder(keys, context);
    for (const PartitionRow& partition : partitions) {
        for (const std::string& name : partition.node_names) {
            const auto found = by_name.find(name);
            if (found != by_name.end()) folder.add(&partition, *found->second);
        }
        if (partition.node_names.empty()) folder.add_empty(partition);
    }
    std::vector<NodeGroup> groups = folder.take();
    std::ranges::stable_sort(groups, [&](const NodeGroup& a, const NodeGroup& b) {
        for (const SortKey& key : sort) {
            const auto diff = compare(key, a, b, context);
            if (diff != 0) return key.descending ? diff > 0 : diff < 0;
        }
        return false;
    });
    return groups;
}

void fit_columns(Layout& layout, std::span<const NodeGroup> groups, const TextContext& context) {
    for (Column& column : layout.columns) {
        if (!column.grows || column.field == Column::kLiteral) continue;
        for (const NodeGroup& group : groups) {
            const std::size_t length = kFields[column.field].text({group, context}).size();
            column.width = std::max(column.width, static_cast<std::uint32_t>(length));
        }
    }
}

void append_group(std::string& out,
                  const Layout& layout,
                  const NodeGroup& group,
                  const TextContext& context) {
    const Cell cell{group, context};
    out += layout.lead;
    for (const Column& column : layout.columns) {
        const bool literal = column.field == Column::kLiteral;
        append_cell(out, literal ? std::string() : kFields[column.field].text(cell), column);
    }
    out += '\n';
}

}  // namespace twinyard::slurm
