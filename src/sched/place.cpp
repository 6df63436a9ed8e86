// Gang placement. place() takes group after group (narrowest first); for each, collect() finds the
// nodes that can serve it, choose() picks so many of them, and distribute() splits members and
// totals over the chosen ones. What fits on one node is fitting.cpp's.
#include "sched/place.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/check.h"
#include "sched/fitting.h"

namespace twinyard::sched {
namespace {

/// Among nodes with equally many free devices, so many more than needed are compared by their cpus:
/// a bound, as thousands may be equal.
constexpr std::size_t kLookFurther = 32;
/// Numbers of nodes tried for one group before it counts as not fitting.
constexpr std::uint32_t kCountsTriedMax = 64;

struct Candidate {
    NodeIndex node = 0;
    std::uint32_t members = 0;  ///< Most that fit.
    bool included = false;      ///< The request names it.
    Parts parts;                ///< Of the totals, beside the fewest members.
    std::uint32_t weight = 0;
    std::int64_t free_devices = 0;
    std::int64_t free_cpu = 0;

    /// Named ones first, then lighter, then fuller nodes.
    [[nodiscard]] auto tightness() const {
        return std::make_tuple(!included, weight, free_devices, free_cpu, node);
    }
};

bool tighter(const Candidate& a, const Candidate& b) {
    return a.tightness() < b.tightness();
}

/// Fills in order: each gets at least `least` and at most its cap, the first as much as it can.
/// The caps add up to `total` at least.
std::vector<std::int64_t> distribute(std::int64_t total,
                                     const std::vector<std::int64_t>& caps,
                                     std::int64_t least) {
    std::int64_t caps_after = 0;
    for (const std::int64_t cap : caps)
        caps_after += cap;
    auto left_after = static_cast<std::int64_t>(caps.size());
    std::vector<std::int64_t> amounts;
    for (const std::int64_t cap : caps) {
        caps_after -= cap;
        --left_after;
        const std::int64_t amount =
            std::max(std::min(cap, total - least * left_after), total - caps_after);
        amounts.push_back(std::clamp<std::int64_t>(amount, 0, cap));
        total -= amounts.back();
    }
    return amounts;
}

class GroupPlacer {
  public:
    GroupPlacer(const Index& index, const GroupNeed& need, std::uint32_t uid, const Room& room)
        : index_(index),
          need_(need),
          group_(*need.group),
          fitting_(index, need, uid, room),
          room_(room) {}

    bool place(const NodeSet& usable, Gang& out) {
        for (const NodeSet& allowed : need_.allowed) {
            NodeSet base = usable;
            base &= allowed;
            if (collect(base) && try_counts(out)) return true;
        }
        return false;
    }

    std::uint32_t count_fitting(const NodeSet& usable) {
        NodeSet base(index_.nodes().size());
        for (const NodeSet& allowed : need_.allowed)
            base |= allowed;
        base &= usable;
        if (!prune(base)) return 0;
        std::uint32_t count = 0;
        base.for_each([&](NodeIndex at) { count += fitting_.fits(at, least_members()) ? 1 : 0; });
        return count;
    }

  private:
    [[nodiscard]] std::uint32_t least_members() const {
        return std::max(group_.members_per_node.min, 1U);
    }
    [[nodiscard]] bool has_totals() const { return !group_.total.empty(); }
    [[nodiscard]] bool members_are_bounded() const {
        return group_.members.max != model::kNoMaximum;
    }

    /// Any node that fits is as good as its tightness says: so many of the tightest are the answer.
    /// 0: no such number.
    [[nodiscard]] std::uint32_t fixed_count() const {
        if (has_totals() || !need_.include.empty()) return 0;
        if (group_.members.max <= least_members()) return 1;
        if (group_.nodes.min != group_.nodes.max) return 0;
        return group_.members.max == group_.nodes.min * least_members() ? group_.nodes.min : 0;
    }

    /// The one column that all devices of the cluster are of, if the group asks for it: then free
    /// devices rank nodes, and the levels of the room find them in order.
    [[nodiscard]] bool ranks_by_level() const {
        if (room_.columns() != 1 || need_.devices.size() != 1) return false;
        if (need_.devices.front().columns.size() != 1 || need_.take_all.devices) return false;
        const auto weight = [&](const NodeClass& each) {
            return index_.nodes()[each.example].node->weight;
        };
        const auto& classes = index_.classes();
        return std::ranges::all_of(
            classes, [&](const NodeClass& each) { return weight(each) == weight(classes[0]); });
    }

    /// False: some node set is empty for sure. Keeps in `base` what has the devices.
    bool prune(NodeSet& base) const {
        for (const DeviceNeed& device : need_.devices) {
            if (device.columns.empty()) return false;
            const std::int64_t want =
                std::max(device.per_node + least_members() * device.per_member,
                         device.total > 0 ? std::int64_t{1} : std::int64_t{0});
            if (device.columns.size() > 1 || want <= 0) continue;
            const NodeSet* having = room_.at_least(device.columns.front(), want);
            if (having == nullptr) return false;
            base &= *having;
        }
        return true;
    }

    bool collect(NodeSet base) {
        candidates_.clear();
        if (!prune(base)) return false;
        const std::uint32_t count = fixed_count();
        if (count > 0 && ranks_by_level()) {
            collect_by_level(base, count);
        } else {
            base.for_each([&](NodeIndex at) { add_candidate(at, count > 0); });
        }
        if (count > 0 && candidates_.size() > count) {
            const auto end = candidates_.begin() + count;
            std::ranges::nth_element(candidates_, end, tighter);
            candidates_.erase(end, candidates_.end());
        }
        return has_included() && !candidates_.empty();
    }

    void collect_by_level(const NodeSet& base, std::uint32_t count) {
        const DeviceNeed& device = need_.devices.front();
        const std::uint16_t column = device.columns.front();
        const std::int64_t want = device.per_node + least_members() * device.per_member;
        for (std::int64_t level = std::max<std::int64_t>(want, 1); level <= room_.levels(column);
             ++level) {
            NodeSet at_level = base;
            at_level &= *room_.at_least(column, level);
            if (const NodeSet* above = room_.at_least(column, level + 1)) at_level -= *above;
            const std::size_t enough =
                std::max<std::size_t>(count, candidates_.size()) + kLookFurther;
            at_level.for_each([&](NodeIndex at) {
                add_candidate(at, true);
                return candidates_.size() < enough;
            });
            if (candidates_.size() >= count) return;
        }
    }

    void add_candidate(NodeIndex at, bool least_is_enough) {
        const std::uint32_t most = std::min(group_.members_per_node.max, group_.members.max);
        if (!fitting_.fits(at, least_members())) return;
        Candidate added;
        added.node = at;
        // Without a maximum nobody asks for more than the least and what is left over.
        const std::uint32_t cap =
            members_are_bounded() ? most : std::min(most, std::max(group_.members.min, 1U));
        added.members = least_is_enough ? least_members()
                                        : std::max(fitting_.most_members(at, cap), least_members());
        if (has_totals()) {
            added.parts = fitting_.parts_left(at, least_members());
            if (!gives_of_each_total(added.parts)) return;
        }
        added.included = std::ranges::count(need_.include, at) > 0;
        added.weight = index_.nodes()[at].node->weight;
        for (const std::int32_t free : room_.devices(at))
            added.free_devices += free;
        added.free_cpu = room_.node(at).cpu_milli;
        candidates_.push_back(std::move(added));
    }

    [[nodiscard]] bool gives_of_each_total(const Parts& parts) const {
        for (std::size_t i = 0; i < need_.devices.size(); ++i) {
            if (need_.devices[i].total > 0 && parts[i] == 0) return false;
        }
        return true;
    }

    [[nodiscard]] bool has_included() const {
        const auto there = std::ranges::count(candidates_, true, &Candidate::included);
        return there == static_cast<std::ptrdiff_t>(need_.include.size());
    }

    [[nodiscard]] std::int64_t total_of(std::size_t part) const {
        const std::size_t devices = need_.devices.size();
        if (part < devices) return need_.devices[part].total;
        if (part == devices) return group_.total.cpu_milli;
        return need_.ignore_memory ? 0 : group_.total.memory_bytes;
    }

    bool try_counts(Gang& out) {
        std::ranges::sort(candidates_, tighter);
        const auto available = static_cast<std::uint32_t>(candidates_.size());
        std::uint32_t most = std::min(group_.nodes.max, available);
        if (members_are_bounded()) most = std::min(most, group_.members.max / least_members());
        const auto included = static_cast<std::uint32_t>(need_.include.size());
        const std::uint32_t fewest = std::max({group_.nodes.min, included, 1U});
        if (fewest > most) return false;
        if (group_.nodes.max != model::kNoMaximum) {
            // A stated maximum: as many nodes as can be had.
            const std::uint32_t tries = std::min(most - fewest + 1, kCountsTriedMax);
            for (std::uint32_t i = 0; i < tries; ++i) {
                if (try_count(most - i, out)) return true;
            }
            return false;
        }
        const std::uint32_t start = std::max(fewest, fewest_that_reach());
        for (std::uint32_t i = 0; i < kCountsTriedMax && start + i <= most; ++i) {
            if (try_count(start + i, out)) return true;
        }
        return false;
    }

    /// Fewest nodes whose sums reach the members wanted and each total; too many if none do.
    [[nodiscard]] std::uint32_t fewest_that_reach() const {
        std::vector<std::int64_t> members;
        for (const Candidate& each : candidates_)
            members.push_back(each.members);
        std::int64_t sum = 0;
        for (const std::int64_t each : members)
            sum += each;
        std::int64_t wanted = group_.members.min;
        if (members_are_bounded() && group_.members.max > wanted)
            wanted = std::max(wanted, std::min<std::int64_t>(group_.members.max, sum));
        std::uint32_t fewest = reach(std::move(members), wanted);
        if (!has_totals()) return fewest;
        for (std::size_t part = 0; part < need_.devices.size() + 2; ++part) {
            std::vector<std::int64_t> amounts;
            for (const Candidate& each : candidates_)
                amounts.push_back(each.parts[part]);
            fewest = std::max(fewest, reach(std::move(amounts), total_of(part)));
        }
        return fewest;
    }

    static std::uint32_t reach(std::vector<std::int64_t> amounts, std::int64_t wanted) {
        std::ranges::sort(amounts, std::greater{});
        std::uint32_t count = 0;
        for (const std::int64_t amount : amounts) {
            if (wanted <= 0) return count;
            wanted -= amount;
            ++count;
        }
        return wanted <= 0 ? count : model::kNoMaximum;
    }

    bool try_count(std::uint32_t count, Gang& out) {
        chosen_.assign(candidates_.begin(), candidates_.begin() + count);
        others_.assign(candidates_.begin() + count, candidates_.end());
        const auto members = [](const Candidate& each) -> std::int64_t { return each.members; };
        if (!lift(group_.members.min, members)) return false;
        for (std::size_t part = 0; has_totals() && part < need_.devices.size() + 2; ++part) {
            if (!lift(total_of(part), [&](const Candidate& each) { return each.parts[part]; }))
                return false;
        }
        std::ranges::sort(chosen_, {}, &Candidate::node);
        return settle(out);
    }

    /// Exchanges the weakest of the chosen for better ones of the others until the sum is reached.
    template <class Amount>
    bool lift(std::int64_t wanted, const Amount& amount) {
        std::int64_t sum = 0;
        for (const Candidate& each : chosen_)
            sum += amount(each);
        const auto named_or_more = [&](const Candidate& each) {
            return std::make_pair(each.included, amount(each));
        };
        while (sum < wanted) {
            const auto weakest = std::ranges::min_element(chosen_, {}, named_or_more);
            // The tightest that closes the gap; else the strongest, and on.
            const std::int64_t gap = wanted - sum + amount(*weakest);
            auto better = std::ranges::find_if(
                others_, [&](const Candidate& each) { return amount(each) >= gap; });
            if (better == others_.end()) better = std::ranges::max_element(others_, {}, amount);
            if (better == others_.end() || weakest->included || amount(*better) <= amount(*weakest))
                return false;
            sum += amount(*better) - amount(*weakest);
            std::swap(*weakest, *better);
        }
        return true;
    }

    bool settle(Gang& out) {
        const std::vector<std::int64_t> members = split_members();
        std::vector<Parts> parts(chosen_.size(), Parts(need_.devices.size() + 2, 0));
        if (has_totals() && !split_totals(members, parts)) return false;
        const std::size_t before = out.size();
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            const auto count = static_cast<std::uint32_t>(members[i]);
            const std::optional<Take> take = fitting_.take(chosen_[i].node, count, parts[i]);
            if (!take) {
                out.resize(before);
                return false;
            }
            out.push_back(NodePart{chosen_[i].node, need_.number, count, *take});
        }
        return true;
    }

    /// Nodes are filled in order; one that would leave a part of a core unused passes a member on
    /// if the later ones can take it.
    [[nodiscard]] std::vector<std::int64_t> split_members() const {
        const std::int64_t least = least_members();
        std::vector<std::int64_t> caps;
        std::int64_t later = 0;
        for (const Candidate& each : chosen_) {
            caps.push_back(each.members);
            later += each.members;
        }
        const auto nodes = static_cast<std::int64_t>(chosen_.size());
        std::int64_t left = std::max<std::int64_t>(group_.members.min, nodes * least);
        if (members_are_bounded()) left = std::min<std::int64_t>(group_.members.max, later);
        std::vector<std::int64_t> amounts;
        for (std::size_t i = 0; i < caps.size(); ++i) {
            later -= caps[i];
            const std::int64_t after = nodes - 1 - static_cast<std::int64_t>(i);
            const std::int64_t floor = std::max(least, left - later);
            std::int64_t amount = std::max(std::min(caps[i], left - least * after), floor);
            if (after > 0) amount = whole_cores(chosen_[i].node, amount, floor);
            amounts.push_back(amount);
            left -= amount;
        }
        return amounts;
    }

    [[nodiscard]] std::int64_t whole_cores(NodeIndex at,
                                           std::int64_t members,
                                           std::int64_t floor) const {
        const std::int64_t core = fitting_.core_milli(at);
        const std::int64_t each = group_.per_member.cpu_milli;
        if (each <= 0 || core <= 1) return members;
        for (std::int64_t fewer = members; fewer >= floor && fewer > members - 8; --fewer) {
            if ((group_.per_node.cpu_milli + fewer * each) % core == 0) return fewer;
        }
        return members;
    }

    bool split_totals(const std::vector<std::int64_t>& members, std::vector<Parts>& parts) const {
        std::vector<Parts> left;
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            const auto count = static_cast<std::uint32_t>(members[i]);
            left.push_back(fitting_.parts_left(chosen_[i].node, count));
        }
        for (std::size_t part = 0; part < need_.devices.size() + 2; ++part) {
            const std::int64_t total = total_of(part);
            std::vector<std::int64_t> caps;
            std::int64_t sum = 0;
            for (const Parts& each : left) {
                caps.push_back(each[part]);
                sum += each[part];
            }
            if (sum < total) return false;
            // Each node gives one device at least where there are enough for that.
            const bool one_each =
                part < need_.devices.size() && total >= static_cast<std::int64_t>(chosen_.size());
            const std::vector<std::int64_t> amounts = distribute(total, caps, one_each ? 1 : 0);
            for (std::size_t i = 0; i < amounts.size(); ++i)
                parts[i][part] = amounts[i];
        }
        return true;
    }

    const Index& index_;
    const GroupNeed& need_;
    const model::TaskGroup& group_;
    Fitting fitting_;
    const Room& room_;
    std::vector<Candidate> candidates_;  ///< Tightest first.
    std::vector<Candidate> chosen_, others_;
};

/// Groups in the order in which they are placed: those with the fewest possible nodes first.
std::vector<const GroupNeed*> narrowest_first(const Request& request) {
    std::vector<std::pair<std::uint32_t, const GroupNeed*>> by_width;
    for (const GroupNeed& need : request.groups) {
        std::uint32_t width = 0;
        for (const NodeSet& nodes : need.allowed)
            width += nodes.count();
        by_width.emplace_back(width, &need);
    }
    std::ranges::stable_sort(by_width, {}, [](const auto& each) { return each.first; });
    std::vector<const GroupNeed*> groups;
    for (const auto& [width, need] : by_width)
        groups.push_back(need);
    return groups;
}

bool enough_members(const Request& request, const Gang& gang) {
    std::uint64_t members = 0;
    for (const NodePart& part : gang)
        members += part.members;
    return members >= request.min_members;
}

Gang place_in_order(const Index& index,
                    const Request& request,
                    const std::vector<const GroupNeed*>& groups,
                    const NodeSet& usable,
                    Room& room) {
    Gang gang;
    std::vector<Room::Saved> saved;
    bool placed = true;
    for (const GroupNeed* need : groups) {
        const std::size_t before = gang.size();
        placed = GroupPlacer(index, *need, request.uid, room).place(usable, gang);
        if (!placed) break;
        if (need == groups.back()) break;
        for (std::size_t i = before; i < gang.size(); ++i) {
            saved.push_back(room.save(gang[i].node));
            room.take(gang[i].node, gang[i].take);
        }
    }
    for (auto each = saved.rbegin(); each != saved.rend(); ++each)
        room.restore(*each);
    if (!placed || !enough_members(request, gang)) return {};
    std::ranges::stable_sort(gang, {}, &NodePart::group);
    return gang;
}

}  // namespace

Gang place(const Index& index, const Request& request, const NodeSet& usable, Room& room) {
    if (!request.unsupported.empty() || request.groups.empty()) return {};
    std::vector<const GroupNeed*> groups = narrowest_first(request);
    Gang gang = place_in_order(index, request, groups, usable, room);
    if (!gang.empty() || groups.size() == 1) return gang;
    std::ranges::reverse(groups);
    return place_in_order(index, request, groups, usable, room);
}

std::uint32_t count_fitting_nodes(const Index& index,
                                  const Request& request,
                                  const NodeSet& usable,
                                  const Room& room) {
    if (request.groups.empty()) return 0;
    return GroupPlacer(index, request.groups.front(), request.uid, room).count_fitting(usable);
}

std::vector<std::uint16_t> choose_devices(const Index& index,
                                          NodeIndex at,
                                          std::uint64_t free,
                                          const Take& take) {
    const NodeRow& row = index.nodes()[at];
    const auto& columns = index.classes()[row.node_class].device_columns;
    const auto& devices = row.node->capacity.devices;
    std::vector<std::uint16_t> chosen;
    for (const ColumnCount& want : take.device_counts()) {
        std::vector<std::uint16_t> there;
        for (std::uint64_t rest = free; rest != 0; rest &= rest - 1) {
            const auto device = static_cast<std::uint16_t>(std::countr_zero(rest));
            if (columns[device] == want.column) there.push_back(device);
        }
        CHECK(static_cast<std::int64_t>(there.size()) >= want.count);
        std::map<std::int32_t, std::int32_t> peers;
        for (const std::uint16_t device : there)
            ++peers[devices[device].numa];
        // A NUMA node that has enough, the one with the fewest; else those with the most first.
        std::ranges::stable_sort(there, {}, [&](std::uint16_t device) {
            const std::int32_t numa = devices[device].numa;
            const std::int32_t free_there = peers.at(numa);
            const bool enough = free_there >= want.count;
            return std::make_tuple(!enough, enough ? free_there : -free_there, numa);
        });
        chosen.insert(chosen.end(), there.begin(), there.begin() + want.count);
    }
    std::ranges::sort(chosen);
    return chosen;
}

}  // namespace twinyard::sched
