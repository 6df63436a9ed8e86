#include "sched/backfill.h"

#include <algorithm>

#include "sched/limits.h"

namespace twinyard::sched {
namespace {

/// Does [start, end) cover the time?
bool covers(ClusterTime start, std::optional<ClusterTime> end, ClusterTime time) {
    return start <= time && (!end || time < *end);
}

std::optional<ClusterTime> end_of(ClusterTime start, std::optional<Millis> length) {
    if (!length) return std::nullopt;
    return start + *length;
}

Room::Saved* find_left(Reservation& reservation, NodeIndex at) {
    const auto found = std::ranges::lower_bound(reservation.left, at, {}, &Room::Saved::at);
    return found != reservation.left.end() && found->at == at ? &*found : nullptr;
}

/// Books on what is left beside a reservation; nodes that it does not use are not its concern.
void take_beside(Reservation& reservation, const Gang& gang) {
    for (const NodePart& part : gang) {
        if (Room::Saved* left = find_left(reservation, part.node)) Room::take(*left, part.take);
    }
}

}  // namespace

Timeline::Timeline(const Index& index, ClusterTime now)
    : index_(index), now_(now), free_now_(Room::now(index)) {}

void Timeline::gather_releases() {
    if (gathered_) return;
    gathered_ = true;
    releases_.reserve(releases_.size() + index_.holders().size());
    index_.holders().for_each([&](std::uint64_t, const model::WorkloadPtr& holder) {
        const std::optional<ClusterTime> end = expected_end(*holder, index_.config(), now_);
        if (!end) return;
        for_each_held(*holder, [&](const model::NodeGrant& grant) {
            const NodeIndex at = index_.find_node(grant.node);
            if (at == Index::kNoNode) return;
            releases_.push_back(Release{*end, at, take_of(index_, at, grant, *holder->spec)});
        });
    });
}

void Timeline::sort_releases() {
    gather_releases();
    if (sorted_) return;
    sorted_ = true;
    // By index first: releases are large, their times are not.
    std::vector<std::pair<ClusterTime, std::uint32_t>> order;
    order.reserve(releases_.size());
    for (const Release& release : releases_)
        order.emplace_back(release.end, static_cast<std::uint32_t>(order.size()));
    std::ranges::sort(order);
    std::vector<Release> sorted;
    sorted.reserve(releases_.size());
    for (const auto& [end, at] : order)
        sorted.push_back(releases_[at]);
    releases_ = std::move(sorted);
}

Room& Timeline::window(std::optional<Millis> length) {
    const std::optional<ClusterTime> end = end_of(now_, length);
    std::size_t spared = 0;
    while (spared < reservations_.size() && (!end || reservations_[spared].start < *end))
        ++spared;
    if (spared == 0) return free_now_;
    const auto found = windows_.find(spared);
    if (found != windows_.end()) return found->second;
    Room& room = windows_.emplace(spared, free_now_).first->second;
    for (std::size_t i = 0; i < spared; ++i) {
        for (const Room::Saved& left : reservations_[i].left)
            room.cap(left);
    }
    return room;
}

Room& Timeline::eventual() {
    if (eventual_ != nullptr) return *eventual_;
    gather_releases();
    eventual_ = std::make_unique<Room>(free_now_);
    for (const Release& release : releases_)
        eventual_->give_back(release.node, release.take);
    for (const Reservation& reservation : reservations_) {
        if (reservation.end) continue;
        for (const NodePart& part : reservation.gang)
            eventual_->take(part.node, part.take);
    }
    return *eventual_;
}

void Timeline::refresh_windows(NodeIndex at) {
    for (auto& [spared, room] : windows_) {
        room.restore(free_now_.save(at));
        for (std::size_t i = 0; i < spared; ++i) {
            if (const Room::Saved* left = find_left(reservations_[i], at)) room.cap(*left);
        }
    }
}

void Timeline::start(const Gang& gang, std::optional<Millis> length) {
    const std::optional<ClusterTime> end = end_of(now_, length);
    for (Reservation& reservation : reservations_) {
        if (!end || reservation.start < *end) take_beside(reservation, gang);
    }
    for (const NodePart& part : gang) {
        free_now_.take(part.node, part.take);
        if (end) releases_.push_back(Release{*end, part.node, part.take});
        if (!end && eventual_ != nullptr) eventual_->take(part.node, part.take);
    }
    if (end) sorted_ = false;
    for (const NodePart& part : gang)
        refresh_windows(part.node);
}

std::vector<ClusterTime> Timeline::times() const {
    std::vector<ClusterTime> times;
    for (const Release& release : releases_) {
        if (times.empty() || times.back() != release.end) times.push_back(release.end);
    }
    for (const Reservation& reservation : reservations_) {
        if (reservation.end) times.push_back(*reservation.end);
    }
    std::ranges::sort(times);
    const auto repeated = std::ranges::unique(times);
    times.erase(repeated.begin(), repeated.end());
    return times;
}

Room Timeline::room_without_reservations(ClusterTime at) const {
    Room room = free_now_;
    for (const Release& release : releases_) {
        if (release.end > at) break;
        room.give_back(release.node, release.take);
    }
    return room;
}

Room Timeline::room_at(ClusterTime at, std::optional<Millis> length) const {
    Room room = room_without_reservations(at);
    for (const Reservation& reservation : reservations_) {
        if (!covers(reservation.start, reservation.end, at)) continue;
        for (const NodePart& part : reservation.gang)
            room.take(part.node, part.take);
    }
    const std::optional<ClusterTime> end = end_of(at, length);
    for (const Reservation& reservation : reservations_) {
        if (reservation.start <= at || (end && reservation.start >= *end)) continue;
        for (const Room::Saved& left : reservation.left)
            room.cap(left);
    }
    return room;
}

std::optional<Reservation> Timeline::find_start(const Search& search, std::uint64_t& tests) {
    sort_releases();
    const std::vector<ClusterTime> candidates = times();
    const auto fits = [&](Room room) {
        ++tests;
        return place(index_, search.request, search.usable, room);
    };
    // Without reservations more is free at each later time: halve. With them that is a lower bound.
    std::size_t low = 0, high = candidates.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fits(room_without_reservations(candidates[middle])).empty()) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (std::size_t i = low; i < candidates.size() && tests < search.tests_max; ++i) {
        Room room = room_at(candidates[i], search.length);
        Gang gang = fits(room);
        if (gang.empty()) continue;
        Reservation found;
        found.start = candidates[i];
        found.end = end_of(found.start, search.length);
        found.gang = std::move(gang);
        return found;
    }
    return std::nullopt;
}

void Timeline::reserve(Reservation reservation) {
    Room room = room_at(reservation.start, Millis{0});
    for (const NodePart& part : reservation.gang)
        room.take(part.node, part.take);
    for (const NodePart& part : reservation.gang)
        reservation.left.push_back(room.save(part.node));
    std::ranges::sort(reservation.left, {}, &Room::Saved::at);
    const auto repeated = std::ranges::unique(reservation.left, {}, &Room::Saved::at);
    reservation.left.erase(repeated.begin(), repeated.end());
    for (Reservation& other : reservations_) {
        if (covers(reservation.start, reservation.end, other.start))
            take_beside(other, reservation.gang);
    }
    if (!reservation.end) eventual_.reset();
    windows_.clear();
    const auto later =
        std::ranges::upper_bound(reservations_, reservation.start, {}, &Reservation::start);
    reservations_.insert(later, std::move(reservation));
}

void Timeline::drop(model::WorkloadId workload) {
    if (std::erase_if(reservations_,
                      [&](const Reservation& each) { return each.workload == workload; }) == 0)
        return;
    eventual_.reset();
    windows_.clear();
}

}  // namespace twinyard::sched
