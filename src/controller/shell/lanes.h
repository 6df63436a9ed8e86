#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "api/command.h"
#include "controller/core/core.h"
#include "store/store.h"

namespace twinyard::controller {

/// Ways into the state thread, in order of urgency; served by weight, so that none starves.
enum class Lane : std::uint8_t { Agents, Control, Plan, User, Bulk };
inline constexpr std::size_t kLanes = 5;

/// Called once, on the state thread, when the command's batch is durable (or refused the command).
/// Cheap.
using OnReply = std::move_only_function<void(Result<api::Reply>)>;

struct Item {
    api::Command command;
    api::Principal principal;
    OnReply on_reply;  ///< May be empty.
    /// Instead of a command: runs on the state thread with the core (pins of blobs).
    std::move_only_function<void(Core&)> with_core;
};

/// Bounded in entries and bytes: a full lane refuses, it never blocks who pushes. Threads: push
/// from any, take and wait from the state thread.
class Lanes {
  public:
    using Clock = std::chrono::steady_clock;

    struct Bound {
        std::size_t entries = 0;
        std::size_t bytes = 0;
    };

    Lanes();

    /// False, and `item` untouched, if the lane is full or closed.
    [[nodiscard]] bool try_push(Lane lane, Item&& item, std::size_t bytes = 0);
    /// The store's answer to batch `seq`; never refused.
    void push_store_reply(std::uint64_t seq, store::Reply reply);
    void wake();
    /// Refuses everything from now on.
    void close();

    struct Taken {
        Lane lane = Lane::Agents;
        Item item;
    };
    /// The next item by weighted turns. Does not wait.
    [[nodiscard]] std::optional<Taken> take();
    [[nodiscard]] std::optional<std::pair<std::uint64_t, store::Reply>> take_store_reply();

    /// Until there is a store reply, or (if `want_items`) an item, or wake(), or the deadline.
    void wait_until(Clock::time_point deadline, bool want_items);

  private:
    struct Entry {
        Item item;
        std::size_t bytes;
    };
    struct Queue {
        std::deque<Entry> entries;
        std::size_t bytes = 0;
    };
    [[nodiscard]] bool has_items() const;

    std::mutex mutex_;
    std::condition_variable news_;
    std::array<Queue, kLanes> queues_;
    std::deque<std::pair<std::uint64_t, store::Reply>> store_replies_;
    std::size_t turn_ = 0;    ///< Lane whose turn it is …
    std::size_t credit_ = 0;  ///< … and how many it may still give.
    bool woken_ = false;
    bool closed_ = false;
};

}  // namespace twinyard::controller
