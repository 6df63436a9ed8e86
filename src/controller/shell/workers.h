#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace twinyard::controller {

/// A few threads for what must not stall io or the state thread: decode, translate, queries, blobs.
/// Bounded. Any thread.
class Workers {
  public:
    using Job = std::move_only_function<void()>;

    explicit Workers(std::size_t threads);
    ~Workers();

    /// False if too much waits already (or it is stopping): answer "try again" to whom it was for.
    [[nodiscard]] bool try_post(Job&& job);
    void stop();

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable news_;
    std::deque<Job> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace twinyard::controller
