#include "controller/shell/workers.h"

#include <utility>

namespace twinyard::controller {
namespace {

constexpr std::size_t kJobsWaitingMax = 8'192;

}  // namespace

Workers::Workers(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i)
        threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
    stop();
}

void Workers::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    news_.notify_all();
    for (std::thread& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
}

bool Workers::try_post(Job&& job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || jobs_.size() >= kJobsWaitingMax) return false;
        jobs_.push_back(std::move(job));
    }
    news_.notify_one();
    return true;
}

void Workers::run() {
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            news_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }
}

}  // namespace twinyard::controller
