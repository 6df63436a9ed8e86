#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "rpc/loop.h"

namespace twinyard::rpc {

/// The way from any thread to an object that lives on a loop, and may be gone. Inside rpc only.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
  public:
    explicit Mailbox(Loop& loop) : loop_(&loop) {}

    /// Runs `fn` on the loop's thread: at once if this is it. False: closed, `fn` was dropped.
    bool run(Callback fn);
    /// Runs what is in the box here and now, then takes no more. On the loop's thread, or while the
    /// loop is not running.
    void close();

  private:
    void drain();

    std::mutex mutex_;
    Loop* loop_;
    std::deque<Callback> waiting_;
};

/// A loop on a thread of its own.
class LoopThread {
  public:
    LoopThread() : thread_([this] { loop_.run(); }) {}
    ~LoopThread() { join(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    [[nodiscard]] Loop& loop() { return loop_; }
    /// Ends the thread; afterwards the caller's thread is the loop's. Not from inside the loop.
    void join();

  private:
    Loop loop_;
    std::thread thread_;
};

}  // namespace twinyard::rpc
