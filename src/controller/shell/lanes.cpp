#include "controller/shell/lanes.h"

#include <algorithm>

namespace twinyard::controller {
namespace {

constexpr std::array<std::size_t, kLanes> kWeights{16, 8, 8, 4, 2};
constexpr std::array<Lanes::Bound, kLanes> kBounds{{
    {65'536, std::size_t{256} << 20},  // agents: a full report of 10,000 emulated nodes at once
    {4'096, std::size_t{16} << 20},
    {4'096, std::size_t{64} << 20},
    {4'096, std::size_t{64} << 20},
    {16'384, std::size_t{128} << 20},
}};

}  // namespace

Lanes::Lanes() : credit_(kWeights[0]) {}

bool Lanes::try_push(Lane lane, Item&& item, std::size_t bytes) {
    const auto at = static_cast<std::size_t>(lane);
    {
        const std::lock_guard lock(mutex_);
        Queue& queue = queues_[at];
        if (closed_ || queue.entries.size() >= kBounds[at].entries) return false;
        if (!queue.entries.empty() && queue.bytes + bytes > kBounds[at].bytes) return false;
        queue.entries.push_back({std::move(item), bytes});
        queue.bytes += bytes;
    }
    news_.notify_one();
    return true;
}

void Lanes::push_store_reply(std::uint64_t seq, store::Reply reply) {
    {
        const std::lock_guard lock(mutex_);
        store_replies_.emplace_back(seq, std::move(reply));
    }
    news_.notify_one();
}

void Lanes::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    news_.notify_one();
}

void Lanes::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        woken_ = true;
    }
    news_.notify_one();
}

bool Lanes::has_items() const {
    return std::ranges::any_of(queues_, [](const Queue& queue) { return !queue.entries.empty(); });
}

std::optional<Lanes::Taken> Lanes::take() {
    const std::lock_guard lock(mutex_);
    for (std::size_t tried = 0; tried <= kLanes; ++tried) {
        Queue& queue = queues_[turn_];
        if (credit_ > 0 && !queue.entries.empty()) {
            --credit_;
            Entry entry = std::move(queue.entries.front());
            queue.entries.pop_front();
            queue.bytes -= entry.bytes;
            return Taken{static_cast<Lane>(turn_), std::move(entry.item)};
        }
        turn_ = (turn_ + 1) % kLanes;
        credit_ = kWeights[turn_];
    }
    return std::nullopt;
}

std::optional<std::pair<std::uint64_t, store::Reply>> Lanes::take_store_reply() {
    const std::lock_guard lock(mutex_);
    if (store_replies_.empty()) return std::nullopt;
    auto reply = std::move(store_replies_.front());
    store_replies_.pop_front();
    return reply;
}

void Lanes::wait_until(Clock::time_point deadline, bool want_items) {
    std::unique_lock lock(mutex_);
    news_.wait_until(lock, deadline, [&] {
        return woken_ || !store_replies_.empty() || (want_items && has_items());
    });
    woken_ = false;
}

}  // namespace twinyard::controller
