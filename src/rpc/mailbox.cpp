#include "rpc/mailbox.h"

#include <utility>

#include "base/check.h"

namespace twinyard::rpc {

bool Mailbox::run(Callback fn) {
    {
        const std::lock_guard lock(mutex_);
        if (loop_ == nullptr) return false;
        if (!loop_->in_loop_thread()) {
            waiting_.push_back(std::move(fn));
            if (waiting_.size() == 1) loop_->post([self = shared_from_this()] { self->drain(); });
            return true;
        }
    }
    fn();
    return true;
}

void Mailbox::drain() {
    // One at a time: a callback may close() this box, which then runs the rest.
    for (;;) {
        Callback fn;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty()) return;
            fn = std::move(waiting_.front());
            waiting_.pop_front();
        }
        fn();
    }
}

void Mailbox::close() {
    {
        const std::lock_guard lock(mutex_);
        loop_ = nullptr;
    }
    drain();
}

void LoopThread::join() {
    if (!thread_.joinable()) return;
    CHECK(!loop_.in_loop_thread());
    loop_.stop();
    thread_.join();
}

}  // namespace twinyard::rpc
