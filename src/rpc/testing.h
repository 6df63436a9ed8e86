#pragma once

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>

#include "base/check.h"
#include "rpc/address.h"

/// For tests of the wire alone.
namespace twinyard::rpc {

/// Long enough that only a hang reaches it.
inline constexpr std::chrono::seconds kTestPatience{30};

/// A folder of its own, emptied of the names that tests use, and removed at the end.
class TempFolder {
  public:
    TempFolder() {
        char path[] = "/tmp/twinyard-rpc-XXXXXX";
        CHECK(::mkdtemp(path) != nullptr);
        path_ = path;
    }
    ~TempFolder() {
        ::unlink(socket().c_str());
        ::rmdir(path_.c_str());
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string socket() const { return path_ + "/s"; }

  private:
    std::string path_;
};

/// A value that other threads change and the test waits for.
template <class T>
class Watched {
  public:
    explicit Watched(T value = T{}) : value_(std::move(value)) {}

    void set(T value) {
        update([&](T& held) { held = std::move(value); });
    }
    void update(const std::function<void(T&)>& change) {
        const std::lock_guard lock(mutex_);
        change(value_);
        changed_.notify_all();
    }
    /// False if it did not become true in time.
    [[nodiscard]] bool wait(const std::function<bool(const T&)>& wanted) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kTestPatience, [&] { return wanted(value_); });
    }
    [[nodiscard]] bool wait_for_value(const T& wanted) {
        return wait([&](const T& value) { return value == wanted; });
    }
    [[nodiscard]] T get() {
        const std::lock_guard lock(mutex_);
        return value_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    T value_;
};

/// Connects or aborts.
inline UniqueFd raw_connect(const std::string& path) {
    for (;;) {
        Result<UniqueFd> fd = connect_unix(path);
        if (fd) return std::move(*fd);
        CHECK(fd.error().code() == ErrorCode::Unavailable);
        ::poll(nullptr, 0, 1);  // The backlog is full for a moment.
    }
}

/// Reads until the peer closes, or until `size` bytes have come.
inline std::string raw_read(int fd, std::size_t size = ~std::size_t{0}) {
    std::string all;
    while (all.size() < size) {
        pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
        if (::poll(&watched, 1, 30'000) <= 0) return all + "<timed out>";
        char chunk[4096];
        const ssize_t count = ::read(fd, chunk, std::min(sizeof(chunk), size - all.size()));
        if (count <= 0) return all;
        all.append(chunk, static_cast<std::size_t>(count));
    }
    return all;
}

inline void raw_write(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            pollfd watched{.fd = fd, .events = POLLOUT, .revents = 0};
            CHECK(::poll(&watched, 1, 30'000) > 0);
            continue;
        }
        if (count < 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace twinyard::rpc
