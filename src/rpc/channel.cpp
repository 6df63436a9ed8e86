#include "rpc/channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace twinyard::rpc {
namespace {

/// What one wake-up reads: large enough to take a whole pipeline of requests, small enough to be
/// fair to others.
constexpr std::size_t kReadChunk = std::size_t{64} << 10;
constexpr std::size_t kIdleBufferMax = 1024;

Error broken(const char* what) {
    return {ErrorCode::Unavailable, std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace

Channel::Channel(Loop& loop, UniqueFd fd, ChannelUser& user)
    : loop_(loop), fd_(std::move(fd)), user_(&user), decoder_(kHelloPayloadMax) {}

void Channel::start() {
    // Weak: the channel owns the watch.
    watch_ = loop_.watch_fd(fd_.get(), kFdReadable, [weak = weak_from_this()](FdEvents events) {
        if (const auto self = weak.lock()) self->on_ready(events);
    });
}

void Channel::on_ready(FdEvents events) {
    if ((events & kFdWritable) != 0 && is_open()) flush();
    if ((events & kFdReadable) != 0 && is_open() && !reading_paused_) read_once();
}

void Channel::read_once() {
    std::array<char, kReadChunk> chunk;  // NOLINT: recv() fills it.
    const ssize_t size = ::recv(fd_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) return lose(broken("connection lost"));
    if (size == 0) return lose({ErrorCode::Unavailable, "the peer closed the connection"});
    bytes_read_ += static_cast<std::size_t>(size);
    decoder_.append({chunk.data(), static_cast<std::size_t>(size)});
    deliver();
}

void Channel::deliver() {
    corked_ = true;
    while (is_open() && !reading_paused_) {
        Result<std::optional<Frame>> frame = decoder_.next();
        if (!frame) return last_words(frame.error());
        if (!frame->has_value()) break;
        user_->on_frame(std::move(**frame));
    }
    corked_ = false;
    if (is_open()) flush();
}

/// The stream is lost: tells the peer why, as far as it still listens.
void Channel::last_words(const Error& error) {
    append_frame(out_, {.type = FrameType::Error}, encode_error(error));
    corked_ = false;
    flush();
    lose(error);
}

void Channel::send(const FrameHead& head, std::string_view payload) {
    if (!is_open()) return;
    append_frame(out_, head, payload);
    if (!corked_ && !write_blocked_) flush();
}

void Channel::flush() {
    std::size_t sent = 0;
    bool failed = false;
    while (unsent() > 0) {
        const ssize_t size =
            ::send(fd_.get(), out_.data() + out_sent_, unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR) continue;
        failed = size < 0 && errno != EAGAIN;
        if (size < 0) break;
        out_sent_ += static_cast<std::size_t>(size);
        sent += static_cast<std::size_t>(size);
    }
    bytes_sent_ += sent;
    if (failed) {
        const Error error = broken("connection lost");
        // What the peer said before it closed may be the reason.
        out_.clear();
        out_sent_ = 0;
        return loop_.post([weak = weak_from_this(), error] {
            const auto self = weak.lock();
            for (int i = 0; self && self->is_open() && i < 16; ++i)
                self->read_once();
            if (self) self->lose(error);
        });
    }
    if (unsent() == 0) {
        out_.clear();
        out_sent_ = 0;
        if (out_.capacity() > kIdleBufferMax) std::string().swap(out_);  // "=" would keep it.
    } else if (out_sent_ > out_.size() / 2) {
        out_.erase(0, out_sent_);
        out_sent_ = 0;
    }
    write_blocked_ = unsent() > 0;
    update_events();
    if (sent > 0 && user_ != nullptr) user_->on_sent(sent);
}

void Channel::pause_reading(bool paused) {
    if (reading_paused_ == paused || !is_open()) return;
    reading_paused_ = paused;
    update_events();
    if (paused || corked_) return;
    // Whole frames may be waiting in the decoder, for which the socket will not wake us.
    loop_.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->is_open()) self->deliver();
    });
}

void Channel::update_events() {
    const int events = (reading_paused_ ? 0 : kFdReadable) | (write_blocked_ ? kFdWritable : 0);
    watch_.set_events(static_cast<FdEvents>(events));
}

void Channel::close() {
    user_ = nullptr;
    if (!is_open()) return;
    if (unsent() > 0) {
        (void)::send(fd_.get(), out_.data() + out_sent_, unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    shut();
}

void Channel::lose(const Error& error) {
    if (!is_open()) return;
    shut();
    ChannelUser* user = std::exchange(user_, nullptr);
    if (user != nullptr) user->on_lost(error);
}

void Channel::shut() {
    watch_.cancel();  // Before the descriptor is closed and its number used again.
    fd_.reset();
    std::string().swap(out_);
    out_sent_ = 0;
}

}  // namespace twinyard::rpc
