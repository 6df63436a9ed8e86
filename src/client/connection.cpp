#include "client/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "rpc/address.h"

namespace twinyard::client {
namespace {

using rpc::Frame;
using rpc::FrameHead;
using rpc::FrameType;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadChunk = std::size_t{64} << 10;
constexpr std::size_t kJoinedMax = std::size_t{512} << 20;
/// While we wait to send, so much of the server's answer is kept; beyond it the server has to wait.
constexpr std::size_t kHeldMax = std::size_t{64} << 20;
constexpr Millis kRetryDelayMax{100};
/// A server that took the connection gets so long to greet, however little of the time-out is left.
constexpr Millis kGreetingMin{200};

/// A moment to be done by; none: for ever.
class Deadline {
  public:
    Deadline() = default;
    explicit Deadline(Millis timeout) : at_(SteadyClock::now() + timeout) {}

    /// For poll(): rounded up, so that a wait never ends early; -1 for ever.
    [[nodiscard]] int left_ms() const {
        if (!at_) return -1;
        const auto left = std::chrono::ceil<Millis>(*at_ - SteadyClock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
    }
    [[nodiscard]] bool passed() const { return at_ && SteadyClock::now() >= *at_; }

  private:
    std::optional<SteadyClock::time_point> at_;
};

Error system_error(const char* what) {
    return {ErrorCode::Unavailable, std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace

struct Connection::Impl {
    rpc::UniqueFd fd;
    rpc::FrameDecoder decoder;
    std::string out;
    std::uint64_t requests_made = 0;
    std::uint64_t open_id = 0;  // The request that is open; 0: none.
    std::uint16_t version = 0;
    Millis reply_timeout{0};
    std::optional<Error> broken;

    [[nodiscard]] std::unexpected<Error> lose(Error error);
    [[nodiscard]] Deadline reply_deadline() const;
    Status wait_for(short events, const Deadline& deadline, short& ready);
    Result<bool> fill();
    Status send(const FrameHead& head, std::string_view payload);
    Status flush();
    std::unexpected<Error> read_last_words(Error error);
    Result<std::optional<Frame>> next_frame(Wait wait, const Deadline& deadline);
    Status greet(const Deadline& deadline);
    Result<std::optional<Event>> take(Frame frame);
};

std::unexpected<Error> Connection::Impl::lose(Error error) {
    open_id = 0;
    fd.reset();
    broken = error;
    return fail(std::move(error));
}

Deadline Connection::Impl::reply_deadline() const {
    return reply_timeout > Millis{0} ? Deadline(reply_timeout) : Deadline();
}

/// Waits for any of `events`; Unavailable when the deadline passes first.
Status Connection::Impl::wait_for(short events, const Deadline& deadline, short& ready) {
    for (;;) {
        pollfd watched{.fd = fd.get(), .events = events, .revents = 0};
        const int count = ::poll(&watched, 1, deadline.left_ms());
        ready = watched.revents;
        if (count > 0) return {};
        if (count < 0 && errno != EINTR) return lose(system_error("poll"));
        if (deadline.passed()) return lose({ErrorCode::Unavailable, "no answer in time"});
    }
}

/// Reads what is there. False: nothing is.
Result<bool> Connection::Impl::fill() {
    std::array<char, kReadChunk> chunk;  // NOLINT: recv() fills it.
    const ssize_t size = ::recv(fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size < 0) return lose(system_error("connection lost"));
    if (size == 0) return lose({ErrorCode::Unavailable, "the server closed the connection"});
    decoder.append({chunk.data(), static_cast<std::size_t>(size)});
    return true;
}

Status Connection::Impl::send(const FrameHead& head, std::string_view payload) {
    if (broken) return fail(*broken);
    rpc::append_frame(out, head, payload);
    return flush();
}

/// Sends all of `out`. Reads meanwhile: a server that waits for us to read would else never read
/// what we send.
Status Connection::Impl::flush() {
    const Deadline deadline = reply_deadline();
    std::size_t sent = 0;
    while (sent < out.size()) {
        const ssize_t size =
            ::send(fd.get(), out.data() + sent, out.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size >= 0) {
            sent += static_cast<std::size_t>(size);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return read_last_words(system_error("connection lost"));
        const bool can_hold = decoder.buffered() < kHeldMax;
        short ready = 0;
        TRY_STATUS(
            wait_for(static_cast<short>(POLLOUT | (can_hold ? POLLIN : 0)), deadline, ready));
        if ((ready & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
        const Result<bool> filled = fill();
        if (!filled) return fail(filled.error());
    }
    out.clear();
    return {};
}

/// The server closed: if it said why, that is the error.
std::unexpected<Error> Connection::Impl::read_last_words(Error error) {
    for (;;) {
        const Result<bool> more = fill();
        if (!more || !*more) break;
    }
    for (;;) {
        Result<std::optional<Frame>> frame = decoder.next();
        if (!frame || !frame->has_value()) break;
        if ((*frame)->type != FrameType::Error || (*frame)->request_id != 0) continue;
        error = Error(ErrorCode::Unavailable, rpc::decode_error((*frame)->payload).message());
    }
    return lose(std::move(error));
}

/// nullopt, only with Wait::No: no whole frame has come yet.
Result<std::optional<Frame>> Connection::Impl::next_frame(Wait wait, const Deadline& deadline) {
    for (;;) {
        Result<std::optional<Frame>> frame = decoder.next();
        if (!frame) return lose({ErrorCode::Unavailable, frame.error().message()});
        if (frame->has_value()) return frame;
        if (broken) return fail(*broken);
        short ready = 0;
        if (wait == Wait::UntilEvent) TRY_STATUS(wait_for(POLLIN, deadline, ready));
        const Result<bool> filled = fill();
        if (!filled) return fail(filled.error());
        if (!*filled && wait == Wait::No) return std::nullopt;
    }
}

Status Connection::Impl::greet(const Deadline& deadline) {
    const rpc::Hello ours{.software = "twinyard"};
    TRY_STATUS(send({.type = FrameType::Hello}, rpc::encode_hello(ours)));
    TRY(const std::optional<Frame> frame, next_frame(Wait::UntilEvent, deadline));
    if (frame->type == FrameType::Error) return fail(rpc::decode_error(frame->payload));
    if (frame->type != FrameType::Hello) {
        return fail(ErrorCode::Corrupt, "the server does not speak this protocol");
    }
    TRY(const rpc::Hello theirs, rpc::decode_hello(frame->payload));
    TRY(version, rpc::common_version(ours, theirs));
    return {};
}

/// nullopt: the frame says nothing about the open request.
Result<std::optional<Event>> Connection::Impl::take(Frame frame) {
    if (frame.type == FrameType::Ping) {
        TRY_STATUS(send({.type = FrameType::Pong, .request_id = frame.request_id}, {}));
        return std::nullopt;
    }
    const bool is_error = frame.type == FrameType::Error;
    if (is_error && frame.request_id == 0) {
        return lose({ErrorCode::Unavailable, rpc::decode_error(frame.payload).message()});
    }
    if (frame.request_id != open_id || (!is_error && frame.type != FrameType::Reply)) {
        return std::nullopt;  // Late parts of a cancelled request.
    }
    if (is_error || !frame.more()) open_id = 0;
    if (is_error) return fail(rpc::decode_error(frame.payload));
    const Event::Kind kind = frame.more() ? Event::Kind::Part : Event::Kind::End;
    return Event{.kind = kind, .payload = std::move(frame.payload)};
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::open(const std::string& socket_path, Millis timeout) {
    const Deadline deadline(timeout);
    Millis delay{1};
    for (;;) {
        Error error(ErrorCode::Unavailable, socket_path);
        Result<rpc::UniqueFd> fd = rpc::connect_unix(socket_path);
        if (fd) {
            auto impl = std::make_unique<Impl>();
            impl->fd = std::move(*fd);
            const Status greeted =
                impl->greet(Deadline(std::max(kGreetingMin, Millis{deadline.left_ms()})));
            if (greeted) return Connection(std::move(impl));
            error = Error(greeted.error()).in(socket_path);
        } else {
            error = fd.error();
        }
        if (error.code() != ErrorCode::Unavailable || deadline.passed())
            return fail(std::move(error));
        const auto left = static_cast<Millis::rep>(deadline.left_ms());
        ::poll(nullptr, 0, static_cast<int>(std::min(delay.count(), left)));
        delay = std::min(delay * 2, kRetryDelayMax);
    }
}

std::uint16_t Connection::version() const {
    return impl_->version;
}
bool Connection::lost() const {
    return impl_->broken.has_value();
}
void Connection::set_reply_timeout(Millis timeout) {
    impl_->reply_timeout = timeout;
}
int Connection::fd() const {
    return impl_->fd.get();
}

Result<std::string> Connection::call(std::uint16_t method, std::string_view payload) {
    TRY_STATUS(start(method, payload, false));
    std::string joined;
    for (;;) {
        TRY(Event event, read_event(Wait::UntilEvent));
        const bool end = event.kind == Event::Kind::End;
        if (end && joined.empty()) return std::move(event.payload);
        joined += event.payload;
        if (end) return joined;
        if (joined.size() <= kJoinedMax) continue;
        TRY_STATUS(cancel());
        return fail(ErrorCode::InvalidArgument, "the answer is too large");
    }
}

Status Connection::call_streamed(std::uint16_t method,
                                 std::string_view payload,
                                 const std::function<bool(std::string part)>& on_part) {
    TRY_STATUS(start(method, payload, false));
    for (;;) {
        TRY(Event event, read_event(Wait::UntilEvent));
        const bool end = event.kind == Event::Kind::End;
        const bool wanted = (end && event.payload.empty()) || on_part(std::move(event.payload));
        if (end) return {};
        if (!wanted) return cancel();
    }
}

Status Connection::start(std::uint16_t method, std::string_view payload, bool sends_parts) {
    if (payload.size() > rpc::kPayloadMax) {
        return fail(ErrorCode::InvalidArgument, "the request is too large");
    }
    if (impl_->open_id != 0) TRY_STATUS(cancel());
    impl_->open_id = ++impl_->requests_made;
    const FrameHead head{.type = FrameType::Request,
                         .flags = sends_parts ? rpc::kFlagMore : std::uint8_t{0},
                         .method = method,
                         .request_id = impl_->open_id};
    return impl_->send(head, payload);
}

Status Connection::send_stream_part(std::string_view part, bool last) {
    if (impl_->broken) return fail(*impl_->broken);
    if (impl_->open_id == 0) return {};  // Answered already: nobody takes the rest.
    do {
        const std::string_view piece = part.substr(0, rpc::kPayloadMax);
        part.remove_prefix(piece.size());
        const bool more = !last || !part.empty();
        const FrameHead head{.type = FrameType::StreamData,
                             .flags = more ? rpc::kFlagMore : std::uint8_t{0},
                             .request_id = impl_->open_id};
        TRY_STATUS(impl_->send(head, piece));
    } while (!part.empty());
    return {};
}

Result<Event> Connection::read_event(Wait wait) {
    const Deadline deadline = impl_->reply_deadline();
    for (;;) {
        TRY(std::optional<Frame> frame, impl_->next_frame(wait, deadline));
        if (!frame) return Event{};
        TRY(std::optional<Event> event, impl_->take(std::move(*frame)));
        if (event) return std::move(*event);
    }
}

Status Connection::cancel() {
    const std::uint64_t id = std::exchange(impl_->open_id, 0);
    if (id == 0) return {};
    return impl_->send({.type = FrameType::Cancel, .request_id = id}, {});
}

}  // namespace twinyard::client
