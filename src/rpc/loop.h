#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/time.h"

namespace twinyard::rpc {

using Callback = std::move_only_function<void()>;

/// A set of the two below, joined with `|`.
using FdEvents = std::uint8_t;
inline constexpr FdEvents kFdReadable = 1;
inline constexpr FdEvents kFdWritable = 2;

/// Something the loop watches for its owner: a timer, a descriptor, a signal. Destroying or
/// cancelling it stops the watch: its callback does not run any more, not even if it was already
/// due. Loop's thread only.
class Watch {
  public:
    struct State;

    Watch() noexcept;
    explicit Watch(std::shared_ptr<State> state) noexcept;
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();

    void cancel();
    /// False after cancel() and, for a timer, once it has fired.
    [[nodiscard]] bool active() const;
    /// Descriptors only: what to wait for from now on; 0 pauses.
    void set_events(FdEvents events);

  private:
    std::shared_ptr<State> state_;  // Shared with the operation that the loop has in flight.
};
using Timer = Watch;

/// What wait4() said of a child that is gone.
struct ChildExit {
    pid_t pid = 0;
    int wait_status = 0;
    std::int64_t user_cpu_us = 0;
    std::int64_t system_cpu_us = 0;
    std::int64_t memory_max_bytes = 0;
};

/// The event loop of a single-threaded daemon; Servers and Clients can share it. Boost.Asio is in
/// loop.cpp alone. Threads: post() and stop() from any; everything else, and every callback, on the
/// thread in run() (or before run()).
class Loop {
  public:
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Runs callbacks until stop(), even while there is nothing to do. May be called again after it
    /// returned.
    void run();
    /// Runs what is due now and returns without waiting; for tests and for a last flush after
    /// run().
    void run_ready();
    /// Makes run() return soon; before run() it makes the next one return at once. Callable from
    /// signal-free code only.
    void stop();

    /// Runs `fn` on the loop's thread, after what was posted before.
    void post(Callback fn);
    /// Runs `fn` at once if this is the loop's thread, else posts it.
    void dispatch(Callback fn);
    [[nodiscard]] bool in_loop_thread() const;

    /// One shot, by the monotonic clock. Dropping the Timer cancels it.
    [[nodiscard]] Timer after(Millis delay, Callback fn);

    /// Calls `fn` with what `fd` is ready for, again and again while it is ready (level-triggered).
    /// The owner keeps and closes `fd`, after the Watch is gone. One watch a descriptor, which
    /// becomes non-blocking. An end of file or an error shows as readable. What cannot be waited
    /// for (a regular file: it is always ready) is reported once, and the watch is over.
    [[nodiscard]] Watch watch_fd(int fd,
                                 FdEvents events,
                                 std::move_only_function<void(FdEvents)> fn);

    /// Calls `fn` on the loop's thread each time the signal came (several may be merged into one
    /// call). While anyone watches it the signal's default action is off.
    [[nodiscard]] Watch on_signal(int signal, Callback fn);

    /// Reaps every child of this process, adopted ones too (PR_SET_CHILD_SUBREAPER), and reports
    /// each once. Children that ended before the call are reported as well. One such watch a
    /// process: it owns wait().
    [[nodiscard]] Watch on_child_exit(std::move_only_function<void(const ChildExit&)> fn);

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::rpc
