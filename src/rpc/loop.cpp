#include "rpc/loop.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <utility>

#include "base/check.h"

namespace twinyard::rpc {

namespace asio = boost::asio;
using boost::system::error_code;

struct Watch::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;
    virtual void cancel() = 0;
    virtual void set_events(FdEvents /*events*/) { CHECK(false && "not a descriptor"); }

    bool active = true;
};

namespace {

struct TimerState final : Watch::State, std::enable_shared_from_this<TimerState> {
    TimerState(asio::io_context& io, Callback callback) : timer(io), fn(std::move(callback)) {}

    void start(Millis delay) {
        timer.expires_after(delay);
        timer.async_wait([self = shared_from_this()](const error_code& error) {
            if (error || !self->active) return;
            self->active = false;
            // Out of the state first: it may be destroyed by its own callback.
            Callback due = std::move(self->fn);
            due();
        });
    }

    void cancel() override {
        active = false;
        timer.cancel();
        fn = nullptr;
    }

    asio::steady_timer timer;
    Callback fn;
};

/// A callback that runs many times and may cancel its own watch meanwhile.
template <class... Args>
struct Repeated {
    /// False if the watch was cancelled.
    bool run(const Watch::State& state, Args... args) {
        running = true;
        fn(args...);
        running = false;
        if (!state.active) fn = nullptr;
        return state.active;
    }
    /// What the callback owns goes now, or right after it returns.
    void drop() {
        if (!running) fn = nullptr;
    }

    std::move_only_function<void(Args...)> fn;
    bool running = false;
};

struct FdState final : Watch::State, std::enable_shared_from_this<FdState> {
    FdState(asio::io_context& io, std::move_only_function<void(FdEvents)> callback)
        : descriptor(io), repeated{std::move(callback)} {}

    void start(int fd, FdEvents events) {
        error_code error;
        descriptor.assign(fd, error);
        if (error) {
            wanted = events;
            asio::post(descriptor.get_executor(), [self = shared_from_this()] { self->broken(); });
            return;
        }
        set_events(events);
    }

    void set_events(FdEvents events) override {
        if (!active) return;
        wanted = events;
        arm(kFdReadable, asio::posix::stream_descriptor::wait_read);
        arm(kFdWritable, asio::posix::stream_descriptor::wait_write);
    }

    void arm(FdEvents event, asio::posix::stream_descriptor::wait_type type) {
        if ((wanted & event) == 0 || (armed & event) != 0) return;
        armed = static_cast<FdEvents>(armed | event);
        descriptor.async_wait(type, [self = shared_from_this(), event](const error_code& error) {
            self->ready(event, error);
        });
    }

    void ready(FdEvents event, const error_code& error) {
        armed = static_cast<FdEvents>(armed & ~event);
        if (!active || error == asio::error::operation_aborted) return;
        if (error) {
            broken();
            return;
        }
        // An event that is no longer wanted was still in flight; it is armed again when it is
        // wanted again.
        if ((wanted & event) == 0) return;
        if (repeated.run(*this, event)) set_events(wanted);
    }

    /// The descriptor cannot be waited for: its owner learns why from read() or write(), once.
    void broken() {
        if (!active) return;
        active = false;
        repeated.run(*this, wanted);
        release();
    }

    void release() {
        if (descriptor.is_open()) descriptor.release();
    }

    void cancel() override {
        active = false;
        release();
        repeated.drop();
    }

    asio::posix::stream_descriptor descriptor;
    Repeated<FdEvents> repeated;
    FdEvents wanted = 0;
    FdEvents armed = 0;
};

struct SignalState final : Watch::State, std::enable_shared_from_this<SignalState> {
    SignalState(asio::io_context& io, Callback callback)
        : signals(io), repeated{std::move(callback)} {}

    void start(int signal) {
        error_code error;
        signals.add(signal, error);
        CHECK(!error);
        arm();
    }

    void arm() {
        signals.async_wait([self = shared_from_this()](const error_code& error, int) {
            if (error || !self->active) return;
            if (self->repeated.run(*self)) self->arm();
        });
    }

    void cancel() override {
        active = false;
        error_code ignored;
        signals.cancel(ignored);
        signals.clear(ignored);
        repeated.drop();
    }

    asio::signal_set signals;
    Repeated<> repeated;
};

std::int64_t microseconds(const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

struct ChildState final : Watch::State, std::enable_shared_from_this<ChildState> {
    explicit ChildState(std::move_only_function<void(const ChildExit&)> callback)
        : repeated{std::move(callback)} {}

    void reap() {
        while (active) {
            int status = 0;
            rusage usage{};
            const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
            if (pid < 0 && errno == EINTR) continue;
            if (pid <= 0) return;
            const ChildExit exit{.pid = pid,
                                 .wait_status = status,
                                 .user_cpu_us = microseconds(usage.ru_utime),
                                 .system_cpu_us = microseconds(usage.ru_stime),
                                 .memory_max_bytes = std::int64_t{usage.ru_maxrss} * 1024};
            repeated.run(*this, exit);
        }
    }

    void cancel() override {
        active = false;
        signal.cancel();
        repeated.drop();
    }

    Watch signal;
    Repeated<const ChildExit&> repeated;
};

}  // namespace

struct Loop::Impl {
    // One thread runs it: asio may skip its scheduling between several.
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
};

Watch::Watch() noexcept = default;
Watch::Watch(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Watch::Watch(Watch&&) noexcept = default;

Watch& Watch::operator=(Watch&& other) noexcept {
    if (this != &other) {
        // The new state is in place before the old one goes: dropping a callback may reach this
        // watch again.
        const std::shared_ptr<State> old = std::exchange(state_, std::move(other.state_));
        if (old) old->cancel();
    }
    return *this;
}

Watch::~Watch() {
    cancel();
}

void Watch::cancel() {
    if (const std::shared_ptr<State> state = std::exchange(state_, nullptr)) state->cancel();
}

bool Watch::active() const {
    return state_ && state_->active;
}

void Watch::set_events(FdEvents events) {
    if (state_) state_->set_events(events);
}

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
    impl_->io.run();
    impl_->io.restart();
}

void Loop::run_ready() {
    impl_->io.poll();
}

void Loop::stop() {
    impl_->io.stop();
}

void Loop::post(Callback fn) {
    asio::post(impl_->io, std::move(fn));
}

void Loop::dispatch(Callback fn) {
    if (in_loop_thread()) {
        fn();
    } else {
        post(std::move(fn));
    }
}

bool Loop::in_loop_thread() const {
    return impl_->io.get_executor().running_in_this_thread();
}

Timer Loop::after(Millis delay, Callback fn) {
    auto state = std::make_shared<TimerState>(impl_->io, std::move(fn));
    state->start(delay);
    return Timer(std::move(state));
}

Watch Loop::watch_fd(int fd, FdEvents events, std::move_only_function<void(FdEvents)> fn) {
    auto state = std::make_shared<FdState>(impl_->io, std::move(fn));
    state->start(fd, events);
    return Watch(std::move(state));
}

Watch Loop::on_signal(int signal, Callback fn) {
    auto state = std::make_shared<SignalState>(impl_->io, std::move(fn));
    state->start(signal);
    return Watch(std::move(state));
}

Watch Loop::on_child_exit(std::move_only_function<void(const ChildExit&)> fn) {
    auto state = std::make_shared<ChildState>(std::move(fn));
    const std::weak_ptr<ChildState> weak = state;
    const auto reap = [weak] {
        if (const auto alive = weak.lock()) alive->reap();
    };
    state->signal = on_signal(SIGCHLD, reap);
    post(reap);  // Those that ended before the signal was watched.
    return Watch(std::move(state));
}

}  // namespace twinyard::rpc
