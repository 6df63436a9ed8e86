#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace twinyard {

/// Values from many threads to one, bounded in entries and in bytes: a full queue refuses, it never
/// blocks a producer. Threads: try_push(), wake() and close() from any thread; the pops from one.
template <class T>
class BoundedQueue {
  public:
    using Clock = std::chrono::steady_clock;

    struct Limits {
        std::size_t entries = 0;
        std::size_t bytes = 0;
    };

    explicit BoundedQueue(Limits limits) : limits_(limits) {}

    /// False, and `value` untouched, when the queue is full or closed. One entry over the byte
    /// limit is taken when the queue is empty, so that it cannot be stuck for ever.
    [[nodiscard]] bool try_push(T&& value, std::size_t bytes = 0) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_ || entries_.size() >= limits_.entries) return false;
            if (!entries_.empty() && bytes_ + bytes > limits_.bytes) return false;
            entries_.push_back({std::move(value), bytes});
            bytes_ += bytes;
        }
        ready_.notify_one();
        return true;
    }

    [[nodiscard]] std::optional<T> try_pop() {
        const std::lock_guard lock(mutex_);
        return take();
    }

    /// Waits for an entry. Empty at the deadline, after wake(), and when closed and drained.
    [[nodiscard]] std::optional<T> pop_until(Clock::time_point deadline) {
        std::unique_lock lock(mutex_);
        ready_.wait_until(lock, deadline, [this] { return has_news(); });
        woken_ = false;
        return take();
    }

    /// The same without a deadline.
    [[nodiscard]] std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return has_news(); });
        woken_ = false;
        return take();
    }

    /// Up to `max` entries at once, oldest first; does not wait.
    [[nodiscard]] std::vector<T> drain(std::size_t max) {
        const std::lock_guard lock(mutex_);
        std::vector<T> out;
        while (out.size() < max && !entries_.empty())
            out.push_back(*take());
        return out;
    }

    /// Ends one pop's wait, the one going on or else the next.
    void wake() {
        {
            const std::lock_guard lock(mutex_);
            woken_ = true;
        }
        ready_.notify_one();
    }

    /// Refuses from now on; what is in it can still be popped.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        ready_.notify_all();
    }

    [[nodiscard]] bool closed() const {
        const std::lock_guard lock(mutex_);
        return closed_;
    }
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }
    [[nodiscard]] std::size_t bytes() const {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    struct Entry {
        T value;
        std::size_t bytes;
    };

    [[nodiscard]] bool has_news() const { return !entries_.empty() || woken_ || closed_; }

    std::optional<T> take() {
        if (entries_.empty()) return std::nullopt;
        Entry entry = std::move(entries_.front());
        entries_.pop_front();
        bytes_ -= entry.bytes;
        return std::move(entry.value);
    }

    const Limits limits_;
    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<Entry> entries_;
    std::size_t bytes_ = 0;
    bool woken_ = false;
    bool closed_ = false;
};

}  // namespace twinyard
