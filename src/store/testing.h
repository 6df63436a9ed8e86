#pragma once

// Test support for everything that tests through a Store.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace twinyard::store {

using Outcomes = std::vector<Outcome>;

/// Gathers replies in the order in which they come.
class Replies {
  public:
    Completion expect() {
        return [this](Reply reply) {
            const std::lock_guard lock(mutex_);
            got_.push_back(std::move(reply));
            arrived_.notify_all();
        };
    }

    /// The first `count` replies since the last call. Fewer come back only if the engine is stuck.
    std::vector<Outcome> take(std::size_t count) {
        std::vector<Outcome> outcomes;
        for (const Reply& reply : take_replies(count))
            outcomes.push_back(reply.outcome);
        return outcomes;
    }
    std::vector<Reply> take_replies(std::size_t count) {
        std::unique_lock lock(mutex_);
        arrived_.wait_for(lock, std::chrono::seconds(60), [&] { return got_.size() >= count; });
        EXPECT_EQ(got_.size(), count);
        return std::exchange(got_, {});
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<Reply> got_;
};

inline Op put(std::string key, std::string value) {
    return {Op::Put, std::move(key), std::move(value)};
}
inline Op erase(std::string key) {
    return {Op::Delete, std::move(key), ""};
}

inline std::vector<std::pair<std::string, std::string>> scan_all(Store& store,
                                                                 std::string_view prefix) {
    std::vector<std::pair<std::string, std::string>> rows;
    const Status status = store.scan(prefix, [&](std::string_view key, std::string_view value) {
        rows.emplace_back(key, value);
        return Status{};
    });
    EXPECT_TRUE(status) << status.error().message();
    return rows;
}

}  // namespace twinyard::store
