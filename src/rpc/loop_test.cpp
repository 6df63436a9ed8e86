#include "rpc/loop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rpc/testing.h"

namespace twinyard::rpc {
namespace {

TEST(Loop, PostsRunInOrderAndFromAnyThread) {
    Loop loop;
    std::vector<int> order;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i)
            loop.post([&order, i] { order.push_back(i); });
        loop.post([&loop] { loop.stop(); });
    });
    loop.run();
    other.join();
    ASSERT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(Loop, StopBeforeRunIsRemembered) {
    Loop loop;
    loop.stop();
    loop.run();
    bool ran = false;
    loop.post([&] {
        ran = true;
        loop.stop();
    });
    loop.run();
    EXPECT_TRUE(ran);
}

TEST(Loop, DispatchIsImmediateOnlyInside) {
    Loop loop;
    bool inside = false;
    loop.dispatch([&] { inside = loop.in_loop_thread(); });
    EXPECT_FALSE(inside);
    loop.run_ready();
    EXPECT_TRUE(inside);
}

TEST(Timer, FiresInOrderOfDelay) {
    Loop loop;
    std::string order;
    const Timer late = loop.after(Millis{20}, [&] {
        order += 'b';
        loop.stop();
    });
    const Timer early = loop.after(Millis{5}, [&] { order += 'a'; });
    EXPECT_TRUE(early.active());
    loop.run();
    EXPECT_EQ(order, "ab");
    EXPECT_FALSE(early.active());
}

TEST(Timer, CancelledOrDroppedNeverFires) {
    Loop loop;
    int fired = 0;
    Timer first = loop.after(Millis{0}, [&] { ++fired; });
    {
        const Timer dropped = loop.after(Millis{0}, [&] { ++fired; });
    }
    Timer replaced = loop.after(Millis{0}, [&] { ++fired; });
    replaced = loop.after(Millis{10}, [&] { loop.stop(); });
    first.cancel();
    loop.run();
    EXPECT_EQ(fired, 0);
}

TEST(Timer, MayReplaceItselfInItsOwnCallback) {
    Loop loop;
    Timer timer;
    int left = 3;
    std::function<void()> tick = [&] {
        if (--left == 0) return loop.stop();
        timer = loop.after(Millis{1}, [&] { tick(); });
    };
    timer = loop.after(Millis{1}, [&] { tick(); });
    loop.run();
    EXPECT_EQ(left, 0);
}

class Pipe {
  public:
    Pipe() {
        int ends[2];
        CHECK(::pipe(ends) == 0);
        read_end = UniqueFd(ends[0]);
        write_end = UniqueFd(ends[1]);
    }
    UniqueFd read_end;
    UniqueFd write_end;
};

TEST(WatchFd, IsLevelTriggeredAndCanPause) {
    Loop loop;
    Pipe pipe;
    ASSERT_EQ(::write(pipe.write_end.get(), "abc", 3), 3);
    std::string got;
    Timer wake;
    Watch watch;
    watch = loop.watch_fd(pipe.read_end.get(), kFdReadable, [&](FdEvents) {
        char c = 0;
        ASSERT_EQ(::read(pipe.read_end.get(), &c, 1), 1);
        got += c;
        if (got.size() == 3) return loop.stop();
        if (got.size() != 2) return;
        watch.set_events(0);
        wake = loop.after(Millis{10}, [&] {
            EXPECT_EQ(got, "ab") << "paused";
            watch.set_events(kFdReadable);
        });
    });
    loop.run();
    EXPECT_EQ(got, "abc");
}

TEST(WatchFd, MayCancelItselfAndTheDescriptorCanBeWatchedAgain) {
    Loop loop;
    Pipe pipe;
    ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
    int calls = 0;
    auto token = std::make_shared<int>(0);
    Watch watch;
    watch = loop.watch_fd(pipe.read_end.get(), kFdReadable, [&, token](FdEvents) {
        ++calls;
        watch.cancel();
        loop.post([&] {
            watch = loop.watch_fd(pipe.read_end.get(), kFdReadable, [&](FdEvents) {
                ++calls;
                loop.stop();
            });
        });
    });
    loop.run();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(token.use_count(), 1) << "what a cancelled callback owned is released";
}

TEST(WatchFd, EndOfFileShowsAsReadableAndWritableIsReported) {
    Loop loop;
    Pipe pipe;
    bool writable = false;
    Watch writing = loop.watch_fd(pipe.write_end.get(), kFdWritable, [&](FdEvents events) {
        writable = events == kFdWritable;
        writing.cancel();
        pipe.write_end.reset();
    });
    const Watch reading = loop.watch_fd(pipe.read_end.get(), kFdReadable, [&](FdEvents) {
        char c = 0;
        EXPECT_EQ(::read(pipe.read_end.get(), &c, 1), 0);
        loop.stop();
    });
    loop.run();
    EXPECT_TRUE(writable);
}

TEST(WatchFd, WhatCannotBeWatchedIsReportedOnce) {
    std::FILE* regular = std::tmpfile();
    ASSERT_NE(regular, nullptr);
    for (const int fd : {9'999, ::fileno(regular)}) {
        Loop loop;
        int calls = 0;
        const Watch watch = loop.watch_fd(fd, kFdReadable, [&](FdEvents) { ++calls; });
        const Timer end = loop.after(Millis{5}, [&] { loop.stop(); });
        loop.run();
        EXPECT_EQ(calls, 1) << fd;
        EXPECT_FALSE(watch.active()) << fd;
    }
    std::fclose(regular);
}

TEST(OnSignal, RunsOnTheLoop) {
    Loop loop;
    int calls = 0;
    const Watch watch = loop.on_signal(SIGUSR1, [&] {
        EXPECT_TRUE(loop.in_loop_thread());
        if (++calls == 2) return loop.stop();
        ::raise(SIGUSR1);
    });
    ::raise(SIGUSR1);
    loop.run();
    EXPECT_EQ(calls, 2);
}

pid_t spawn_exiting(int code) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(code);
    return pid;
}

TEST(OnChildExit, ReportsEachChildOnceEarlierOnesToo) {
    Loop loop;
    std::map<pid_t, int> want;
    const pid_t early = spawn_exiting(7);
    want[early] = 7;
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(early), &info, WEXITED | WNOWAIT), 0);
    std::map<pid_t, int> got;
    const Watch watch = loop.on_child_exit([&](const ChildExit& exit) {
        EXPECT_FALSE(got.contains(exit.pid));
        got[exit.pid] = WEXITSTATUS(exit.wait_status);
        if (got.size() == 11) loop.stop();
    });
    for (int code = 0; code < 10; ++code)
        want[spawn_exiting(code)] = code;
    loop.run();
    EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace twinyard::rpc
