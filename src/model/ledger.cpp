#include "model/ledger.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace twinyard::model {
namespace {

constexpr std::uint32_t kNobody = 0xffffffff;

bool has_bit(const std::vector<std::uint64_t>& bits, std::size_t at) {
    return at / 64 < bits.size() && (bits[at / 64] >> (at % 64) & 1) != 0;
}

void set_bit(std::vector<std::uint64_t>& bits, std::size_t at) {
    if (bits.size() <= at / 64) bits.resize(at / 64 + 1);
    bits[at / 64] |= std::uint64_t{1} << (at % 64);
}

/// Drops empty words at the end, so that equal sets are equal values.
void clear_bit(std::vector<std::uint64_t>& bits, std::size_t at) {
    if (at / 64 < bits.size()) bits[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    while (!bits.empty() && bits.back() == 0)
        bits.pop_back();
}

std::int64_t count_bits(const std::vector<std::uint64_t>& bits) {
    std::int64_t count = 0;
    for (const std::uint64_t word : bits)
        count += std::popcount(word);
    return count;
}

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
}

/// Cpus that pods of the shared pool asked for, rounded up.
std::int64_t shared_cpus(const NodeUse& use) {
    return ceil_div(std::max<std::int64_t>(use.cpu_milli - 1000 * count_bits(use.cpus), 0), 1000);
}

/// Cores without a granted thread, in order.
std::vector<std::uint32_t> free_cores(const NodeCapacity& capacity, const NodeUse& use) {
    const std::uint32_t threads = threads_per_granted_core(capacity);
    std::vector<std::uint32_t> cores;
    for (std::uint32_t core = 0; core < capacity.cpus / threads; ++core) {
        bool all_free = true;
        for (std::uint32_t thread = 0; thread < threads; ++thread)
            all_free &= !has_bit(use.cpus, core * threads + thread);
        if (all_free) cores.push_back(core);
    }
    return cores;
}

Share share_of(const WorkloadSpec& spec, std::uint32_t group) {
    return group < spec.groups.size() ? spec.groups[group].share : Share::Any;
}

bool others_allow(const NodeUse& use, const PlannedGrant& grant, const WorkloadSpec& spec) {
    if (use.whole_node > 0) return false;
    if (use.same_user > 0 && use.only_user != spec.uid) return false;
    const Share share = share_of(spec, grant.group);
    if (share == Share::WholeNode) return use.grants == 0;
    if (share != Share::SameUser) return true;
    return std::ranges::all_of(use.users,
                               [&](const UserGrants& user) { return user.uid == spec.uid; });
}

bool devices_free(const Node& node, const NodeUse& use, const PlannedGrant& grant) {
    std::vector<std::uint64_t> seen;
    for (const std::uint16_t device : grant.devices) {
        if (device >= node.capacity.devices.size() || !node.capacity.devices[device].healthy ||
            has_bit(use.devices, device) || has_bit(seen, device))
            return false;
        set_bit(seen, device);
    }
    return true;
}

/// Is the core on a socket that one of the devices is near to? (NUMA nodes are counted as sockets.)
bool near_devices(const Node& node, const PlannedGrant& grant, std::uint32_t core) {
    const std::uint32_t per_socket = std::max(node.capacity.cores_per_socket, 1U);
    return std::ranges::any_of(grant.devices, [&](std::uint16_t device) {
        return device < node.capacity.devices.size() &&
               node.capacity.devices[device].numa == static_cast<std::int32_t>(core / per_socket);
    });
}

}  // namespace

std::uint32_t threads_per_granted_core(const NodeCapacity& capacity) {
    const std::uint64_t product =
        std::uint64_t{capacity.sockets} * capacity.cores_per_socket * capacity.threads_per_core;
    if (capacity.threads_per_core <= 1 || product != capacity.cpus) return 1;
    return capacity.threads_per_core;
}

bool takes_exclusive_cpus(const WorkloadSpec& spec) {
    return spec.door == Door::Slurm;
}

std::int64_t free_cpus(const NodeCapacity& capacity, const NodeUse& use) {
    return std::int64_t{capacity.cpus} - count_bits(use.cpus) - shared_cpus(use);
}

std::int64_t free_cpus_in_whole_cores(const NodeCapacity& capacity, const NodeUse& use) {
    const std::int64_t threads = threads_per_granted_core(capacity);
    if (use.cpus.empty() && use.cpu_milli == 0) return capacity.cpus / threads * threads;
    const auto cores = static_cast<std::int64_t>(free_cores(capacity, use).size());
    return (cores - ceil_div(shared_cpus(use), threads)) * threads;
}

std::vector<std::uint64_t> free_devices(const NodeCapacity& capacity, const NodeUse& use) {
    std::vector<std::uint64_t> free;
    for (std::size_t device = 0; device < capacity.devices.size(); ++device) {
        if (capacity.devices[device].healthy && !has_bit(use.devices, device))
            set_bit(free, device);
    }
    return free;
}

bool covers(const Node& node,
            const NodeUse& use,
            const PlannedGrant& grant,
            const WorkloadSpec& spec) {
    if (grant.cpu_milli < 0 || grant.memory_bytes < 0) return false;
    if (!others_allow(use, grant, spec) || !devices_free(node, use, grant)) return false;
    if (grant.memory_bytes > 0 &&
        grant.memory_bytes > node.capacity.memory_bytes - use.memory_bytes)
        return false;
    if (grant.cpu_milli == 0) return true;
    if (takes_exclusive_cpus(spec)) {
        const std::int64_t threads = threads_per_granted_core(node.capacity);
        const std::int64_t cores = ceil_div(ceil_div(grant.cpu_milli, 1000), threads);
        return cores * threads <= free_cpus_in_whole_cores(node.capacity, use);
    }
    const std::int64_t granted = count_bits(use.cpus);
    return grant.cpu_milli <= 1000 * (node.capacity.cpus - granted) -
                                  std::max<std::int64_t>(use.cpu_milli - 1000 * granted, 0);
}

std::vector<std::uint16_t> choose_cpus(const Node& node,
                                       const NodeUse& use,
                                       const PlannedGrant& grant,
                                       const WorkloadSpec& spec) {
    if (!takes_exclusive_cpus(spec) || grant.cpu_milli <= 0) return {};
    const std::uint32_t threads = threads_per_granted_core(node.capacity);
    const auto wanted =
        static_cast<std::size_t>(ceil_div(ceil_div(grant.cpu_milli, 1000), threads));
    std::vector<std::uint32_t> cores = free_cores(node.capacity, use);
    if (cores.size() < wanted) return {};
    std::ranges::stable_partition(
        cores, [&](std::uint32_t core) { return near_devices(node, grant, core); });
    cores.resize(wanted);
    std::ranges::sort(cores);
    std::vector<std::uint16_t> cpus;
    for (const std::uint32_t core : cores) {
        for (std::uint32_t thread = 0; thread < threads; ++thread)
            cpus.push_back(static_cast<std::uint16_t>(core * threads + thread));
    }
    return cpus;
}

NodeGrant settle(const Node& node,
                 const NodeUse& use,
                 const PlannedGrant& grant,
                 const WorkloadSpec& spec) {
    NodeGrant settled;
    settled.node = grant.node;
    settled.group = grant.group;
    settled.first_member = grant.first_member;
    settled.member_count = grant.member_count;
    settled.cpu_milli = grant.cpu_milli;
    settled.memory_bytes = grant.memory_bytes;
    settled.devices = grant.devices;
    settled.cpus = choose_cpus(node, use, grant, spec);
    if (!settled.cpus.empty())
        settled.cpu_milli = 1000 * static_cast<std::int64_t>(settled.cpus.size());
    return settled;
}

void take(NodeUse& use, const NodeGrant& grant, const WorkloadSpec& spec) {
    use.cpu_milli += grant.cpu_milli;
    use.memory_bytes += grant.memory_bytes;
    ++use.grants;
    for (const std::uint16_t cpu : grant.cpus)
        set_bit(use.cpus, cpu);
    for (const std::uint16_t device : grant.devices)
        set_bit(use.devices, device);
    const Share share = share_of(spec, grant.group);
    if (share == Share::WholeNode) ++use.whole_node;
    if (share == Share::SameUser) {
        ++use.same_user;
        use.only_user = spec.uid;
    }
    const auto user = std::ranges::lower_bound(use.users, spec.uid, {}, &UserGrants::uid);
    if (user != use.users.end() && user->uid == spec.uid) {
        ++user->grants;
    } else {
        use.users.insert(user, UserGrants{spec.uid, 1});
    }
}

void give_back(NodeUse& use, const NodeGrant& grant, const WorkloadSpec& spec) {
    CHECK(use.grants > 0);
    use.cpu_milli -= grant.cpu_milli;
    use.memory_bytes -= grant.memory_bytes;
    --use.grants;
    for (const std::uint16_t cpu : grant.cpus)
        clear_bit(use.cpus, cpu);
    for (const std::uint16_t device : grant.devices)
        clear_bit(use.devices, device);
    const Share share = share_of(spec, grant.group);
    if (share == Share::WholeNode) --use.whole_node;
    if (share == Share::SameUser && --use.same_user == 0) use.only_user = kNobody;
    const auto user = std::ranges::lower_bound(use.users, spec.uid, {}, &UserGrants::uid);
    CHECK(user != use.users.end() && user->uid == spec.uid);
    if (--user->grants == 0) use.users.erase(user);
}

}  // namespace twinyard::model
