#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sched/place.h"

namespace twinyard::sched {

/// A start that lower work may not delay.
struct Reservation {
    model::WorkloadId workload;
    ClusterTime start{};
    std::optional<ClusterTime> end;  ///< None: it never frees them.
    std::uint32_t partition = 0;
    Gang gang;
    /// What its nodes offer beside it at its start, by node.
    std::vector<Room::Saved> left;
};

/// The cluster's free capacity from now on: what runs frees at its expected end, what is reserved
/// is taken at its start. Work without an end frees nothing.
class Timeline {
  public:
    Timeline(const Index& index, ClusterTime now);

    [[nodiscard]] Room& free_now() { return free_now_; }
    /// What work of such a length that starts now may use without delaying any reservation.
    [[nodiscard]] Room& window(std::optional<Millis> length);
    /// When all that has an end has ended.
    [[nodiscard]] Room& eventual();

    /// Starts a gang now, placed in window(length).
    void start(const Gang& gang, std::optional<Millis> length);

    /// The earliest later start, with nodes. None if there is none, or `tests` (counted up by each
    /// placement tried) reaches its maximum first.
    struct Search {
        const Request& request;
        const NodeSet& usable;
        std::optional<Millis> length;
        std::uint64_t tests_max = 0;
    };
    [[nodiscard]] std::optional<Reservation> find_start(const Search& search, std::uint64_t& tests);
    void reserve(Reservation reservation);
    /// Drops the reservation of a workload that started elsewhere.
    void drop(model::WorkloadId workload);
    /// By start.
    [[nodiscard]] const std::vector<Reservation>& reservations() const { return reservations_; }

  private:
    struct Release {
        ClusterTime end{};
        NodeIndex node = 0;
        Take take;
    };

    void gather_releases();
    void sort_releases();
    [[nodiscard]] std::vector<ClusterTime> times() const;
    [[nodiscard]] Room room_without_reservations(ClusterTime at) const;
    /// What work that starts at `at` may use for `length`.
    [[nodiscard]] Room room_at(ClusterTime at, std::optional<Millis> length) const;
    void refresh_windows(NodeIndex at);

    const Index& index_;
    ClusterTime now_;
    Room free_now_;
    bool gathered_ = false, sorted_ = false;
    std::vector<Release> releases_;  ///< Those with an end.
    std::vector<Reservation> reservations_;
    std::unique_ptr<Room> eventual_;
    /// By how many reservations, the earliest first, they spare.
    std::map<std::size_t, Room> windows_;
};

}  // namespace twinyard::sched
