#include <algorithm>

#include "slurm/errors.h"
#include "slurm/translate.h"

namespace twinyard::slurm {

namespace {

using model::TaskGroup;

/// The least that one node must give: the fewest members that some node must take, and its share of
/// a total that is spread over as many nodes as allowed.
struct Need {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::vector<model::DeviceRequest> devices;
    std::vector<std::string_view> excluded;  ///< Sorted names, of the group.
};

std::int64_t divide_up(std::int64_t amount, std::int64_t parts) {
    return (amount + parts - 1) / parts;
}

Need least_on_one_node(const TaskGroup& group) {
    const std::int64_t nodes = std::max<std::uint32_t>(group.nodes.max, 1);
    const std::int64_t members =
        std::max(divide_up(group.members.min, nodes), std::int64_t{group.members_per_node.min});
    Need need;
    need.excluded.assign(group.where.exclude.begin(), group.where.exclude.end());
    std::ranges::sort(need.excluded);
    need.cpu_milli = group.per_node.cpu_milli + group.per_member.cpu_milli * members +
                     divide_up(group.total.cpu_milli, nodes);
    need.memory_bytes = group.per_node.memory_bytes + group.per_member.memory_bytes * members +
                        divide_up(group.total.memory_bytes, nodes);
    need.devices = group.per_node.devices;
    for (model::DeviceRequest device : group.per_member.devices) {
        device.count *= members;
        need.devices.push_back(device);
    }
    for (model::DeviceRequest device : group.total.devices) {
        device.count = divide_up(device.count, nodes);
        need.devices.push_back(device);
    }
    return need;
}

bool has_devices(const model::NodeCapacity& capacity, const Need& need) {
    return std::ranges::all_of(need.devices, [&](const model::DeviceRequest& device) {
        const auto count = std::ranges::count_if(capacity.devices, [&](const model::Device& have) {
            return model::is_of_class(have.class_path, device.class_path);
        });
        return count >= device.count;
    });
}

bool has_label(const model::Node& node, const model::LabelTest& test) {
    return std::ranges::any_of(node.labels, [&](const auto& l) { return l.first == test.key; });
}

/// `excluded`: sorted.
bool may_be_used(const model::Node& node,
                 const model::Where& where,
                 const std::vector<std::string_view>& excluded) {
    if (std::ranges::binary_search(excluded, std::string_view(node.name))) return false;
    if (where.any_of.empty()) return true;
    return std::ranges::any_of(where.any_of, [&](const model::NodeTerm& term) {
        return std::ranges::all_of(term.all,
                                   [&](const auto& test) { return has_label(node, test); });
    });
}

/// Which nodes belong to a partition. Most questions end at the first node, so the names are sorted
/// only when many are asked.
class Members {
  public:
    explicit Members(const model::Partition& partition) : partition_(partition) {}

    bool contains(std::string_view name) {
        if (partition_.all_nodes) return true;
        if (++asked_ <= kAskedUnsorted) {
            return std::ranges::find(partition_.nodes, name) != partition_.nodes.end();
        }
        if (sorted_.empty()) {
            sorted_.assign(partition_.nodes.begin(), partition_.nodes.end());
            std::ranges::sort(sorted_);
        }
        return std::ranges::binary_search(sorted_, name);
    }

  private:
    static constexpr int kAskedUnsorted = 16;
    const model::Partition& partition_;
    std::vector<std::string_view> sorted_;
    int asked_ = 0;
};

/// What the best nodes could give.
struct Answers {
    bool any_node = false, cpus = false, memory = false, all = false;
};

/// What a node is taken to have that no agent ever spoke for and that the configuration leaves
/// open.
struct Assumed {
    std::uint32_t cpus = 0;
    std::int64_t memory_bytes = 0;
};

bool never_registered(const model::Node& node) {
    return node.link == model::NodeLink::NoAgent && node.facts.host_name.empty();
}

void ask(Answers& answers,
         const model::Node& node,
         const TaskGroup& group,
         const Need& need,
         const Assumed& assumed) {
    if (!may_be_used(node, group.where, need.excluded)) return;
    answers.any_node = true;
    std::uint32_t have_cpus = node.capacity.cpus;
    std::int64_t have_memory = node.capacity.memory_bytes;
    if (never_registered(node)) {
        if (have_cpus <= 1) have_cpus = std::max(have_cpus, assumed.cpus);
        if (have_memory == 0) have_memory = assumed.memory_bytes;
    }
    const bool cpus = std::int64_t{1000} * have_cpus >= need.cpu_milli;
    const bool memory = have_memory >= need.memory_bytes;
    answers.cpus |= cpus;
    answers.memory |= memory;
    answers.all |= cpus && memory && has_devices(node.capacity, need);
}

Answers ask_all(const model::Partition& partition,
                const model::Snapshot& snapshot,
                const TaskGroup& group,
                const Need& need,
                const Assumed& assumed) {
    Answers answers;
    Members members(partition);
    snapshot.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        if (members.contains(node->name)) ask(answers, *node, group, need, assumed);
        return !answers.all;
    });
    return answers;
}

/// The largest of the nodes that did register; without any: whatever is asked for.
Assumed largest_node(const model::Snapshot& snapshot) {
    Assumed largest;
    bool any = false;
    snapshot.nodes.for_each([&](std::uint64_t, const model::NodePtr& node) {
        if (never_registered(*node)) return;
        any = true;
        largest.cpus = std::max(largest.cpus, node->capacity.cpus);
        largest.memory_bytes = std::max(largest.memory_bytes, node->capacity.memory_bytes);
    });
    if (any) return largest;
    return {0xffffffff, std::int64_t{1} << 62};
}

}  // namespace

Status check_possible(const TaskGroup& group,
                      const model::Partition& partition,
                      const model::Snapshot& snapshot) {
    if (snapshot.nodes.empty()) return {};  // The agents are still to come.
    Members members(partition);
    for (const std::string& name : group.where.include) {
        if (!members.contains(name)) return refuse(Refusal::ConfigNotAvailable);
    }
    const Need need = least_on_one_node(group);
    if (ask_all(partition, snapshot, group, need, {}).all) return {};
    const Answers answers = ask_all(partition, snapshot, group, need, largest_node(snapshot));
    if (answers.all) return {};
    if (answers.any_node && !answers.cpus) {
        return refuse(Refusal::ConfigNotAvailable, "CPU count per node can not be satisfied");
    }
    if (answers.any_node && !answers.memory) {
        return refuse(Refusal::ConfigNotAvailable, "Memory specification can not be satisfied");
    }
    return refuse(Refusal::ConfigNotAvailable);
}

}  // namespace twinyard::slurm
