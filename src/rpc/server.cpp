#include "rpc/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/loop.h"
#include "rpc/mailbox.h"

// Listener accepts and owns Connections; a Connection owns its Channel and the State of each open
// Call. A Call reaches its connection through the server's Mailbox, which outlives both: so it may
// be used from any thread and at any time. Everything but Call's atomics is touched on the loop's
// thread alone.

namespace twinyard::rpc {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Parts that came before the handler asked for them; more than that and the request fails.
constexpr std::size_t kEarlyPartsMax = std::size_t{1} << 20;
/// Connections taken in one wake-up, so that a storm of them does not starve those that are open.
constexpr int kAcceptsAtOnce = 64;
constexpr Millis kAcceptPause{100};

/// What Calls on other threads may know of their connection.
struct Traffic {
    std::atomic<std::size_t> unsent = 0;
    std::atomic<int> paused_calls = 0;
    std::size_t pause_at = 0;

    [[nodiscard]] bool full() const { return unsent.load() > pause_at; }
    [[nodiscard]] bool open_again() const { return unsent.load() <= pause_at / 2; }
};

}  // namespace

class Connection;

struct Call::State {
    std::uint64_t id = 0;
    std::uint16_t method = 0;
    std::string payload;
    std::shared_ptr<const Peer> peer;  // Shared with the connection and its other calls.
    std::shared_ptr<Traffic> traffic;  // Likewise.
    std::shared_ptr<Mailbox> mailbox;  // Shared with the server and all its calls.
    std::weak_ptr<Connection> connection;

    std::atomic<bool> answered = false;
    std::atomic<bool> cancelled = false;
    std::atomic<bool> paused = false;

    // From here on: the loop's thread.
    std::move_only_function<void()> on_cancel;
    std::move_only_function<void()> on_writable;
    std::move_only_function<void(std::string, bool)> on_part;
    std::deque<std::pair<std::string, bool>> early_parts;
    std::size_t early_bytes = 0;

    [[nodiscard]] bool over() const { return answered.load() || cancelled.load(); }
    void take_part(std::string part, bool last);
    void writable_if_paused();
    void drop_callbacks();
};

void Call::State::take_part(std::string part, bool last) {
    if (over()) return;
    if (!on_part) {
        early_bytes += part.size();
        early_parts.emplace_back(std::move(part), last);
        return;
    }
    // Out of the state while it runs: it may answer the call, which drops all callbacks.
    auto fn = std::move(on_part);
    fn(std::move(part), last);
    if (!over() && !on_part) on_part = std::move(fn);
}

void Call::State::writable_if_paused() {
    if (over() || !on_writable || !traffic->open_again() || !paused.exchange(false)) return;
    --traffic->paused_calls;
    auto fn = std::move(on_writable);
    fn();
    if (!over() && !on_writable) on_writable = std::move(fn);
}

void Call::State::drop_callbacks() {
    if (paused.exchange(false)) --traffic->paused_calls;
    // Locals: what they own may come back here when it goes.
    const auto cancel = std::move(on_cancel);
    const auto writable = std::move(on_writable);
    const auto part = std::move(on_part);
    early_parts.clear();
}

class Listener;

class Connection final : public ChannelUser, public std::enable_shared_from_this<Connection> {
  public:
    Connection(Listener& listener, std::uint64_t number, const PeerCredentials& credentials);
    void start(UniqueFd fd);

    void on_frame(Frame frame) override;
    void on_sent(std::size_t bytes) override;
    void on_lost(const Error& error) override;

    /// `counted`: the sender has added the frame to the traffic already.
    void send(const FrameHead& head, std::string_view payload, bool counted);
    /// Sends the last frame of a request and forgets it.
    void end_request(const Call::State& state, const FrameHead& head, std::string_view payload);
    /// Tells the client, cancels its calls, closes. The listener forgets the connection.
    void refuse(const Error& error);
    void shut();
    /// Cuts the connection if it takes too long over its greeting or its reading.
    void check_times(SteadyClock::time_point now);
    [[nodiscard]] std::size_t half_read() const { return channel_->half_read(); }
    [[nodiscard]] bool attached() const { return listener_ != nullptr; }
    [[nodiscard]] std::uint32_t uid() const { return peer_->uid; }

  private:
    void greet(const Frame& frame);
    void open_request(Frame frame);
    void take_stream_data(Frame frame);
    void cancel(std::uint64_t id);
    void cancel_all();

    Listener* listener_;
    std::uint64_t number_;
    std::shared_ptr<const Peer> peer_;  // Shared with the calls.
    std::shared_ptr<Traffic> traffic_;  // Shared with the calls.
    std::shared_ptr<Channel> channel_;  // Shared with its callbacks under way.
    std::map<std::uint64_t, std::shared_ptr<Call::State>> open_;
    bool greeted_ = false;
    SteadyClock::time_point progress_at_;
    std::uint64_t progress_bytes_ = 0;
};

/// The listening socket and its connections.
class Listener final {
  public:
    Listener(Loop& the_loop, Address address, ServerOptions the_options, Handler the_handler)
        : loop(the_loop),
          options(std::move(the_options)),
          handler(std::move(the_handler)),
          mailbox(std::make_shared<Mailbox>(the_loop)),
          address_(std::move(address)) {}

    Status open();
    void start();
    void close();
    void forget(std::uint64_t number);
    [[nodiscard]] std::size_t connections() const { return connections_count_.load(); }

    Loop& loop;
    const ServerOptions options;
    const Handler handler;
    const std::shared_ptr<Mailbox> mailbox;  // Shared with the calls.

  private:
    void accept_some();
    void add(UniqueFd fd);
    void sweep();
    void arm_sweep();
    void cut_half_read(std::vector<std::shared_ptr<Connection>> all);

    Address address_;
    UniqueFd socket_;
    struct stat socket_file_ {};
    Watch accepting_;
    Timer accept_again_;
    Timer sweeping_;
    std::map<std::uint64_t, std::shared_ptr<Connection>>
        connections_;                                      // Shared with callbacks under way.
    std::map<std::uint32_t, std::size_t> connections_of_;  // By uid.
    std::atomic<std::size_t> connections_count_ = 0;
    std::uint64_t connections_made_ = 0;
};

Connection::Connection(Listener& listener, std::uint64_t number, const PeerCredentials& credentials)
    : listener_(&listener), number_(number), traffic_(std::make_shared<Traffic>()) {
    traffic_->pause_at = listener.options.write_buffer_pause;
    peer_ = std::make_shared<Peer>(Peer{.uid = credentials.uid,
                                        .gid = credentials.gid,
                                        .pid = credentials.pid,
                                        .connection = number,
                                        .version = 0,
                                        .software = {}});
    progress_at_ = SteadyClock::now();
}

void Connection::start(UniqueFd fd) {
    channel_ = std::make_shared<Channel>(listener_->loop, std::move(fd), *this);
    channel_->start();
}

void Connection::on_frame(Frame frame) {
    const auto self = shared_from_this();
    if (!greeted_) return greet(frame);
    switch (frame.type) {
        case FrameType::Request:
            return open_request(std::move(frame));
        case FrameType::StreamData:
            return take_stream_data(std::move(frame));
        case FrameType::Cancel:
            return cancel(frame.request_id);
        case FrameType::Ping:
            return send({.type = FrameType::Pong, .request_id = frame.request_id}, {}, false);
        case FrameType::Pong:
            return;
        default:
            return refuse({ErrorCode::Corrupt, "unexpected frame from a client"});
    }
}

void Connection::greet(const Frame& frame) {
    if (frame.type != FrameType::Hello) return refuse({ErrorCode::Corrupt, "no greeting"});
    const Result<Hello> theirs = decode_hello(frame.payload);
    if (!theirs) return refuse(theirs.error());
    const ServerOptions& options = listener_->options;
    const Hello ours{.version_min = options.version_min,
                     .version_max = options.version_max,
                     .requests_max = options.requests_max,
                     .software = options.software};
    const Result<std::uint16_t> version = common_version(ours, *theirs);
    if (!version) return refuse(version.error());
    Peer peer = *peer_;
    peer.version = *version;
    peer.software = theirs->software;
    peer_ = std::make_shared<Peer>(std::move(peer));
    greeted_ = true;
    channel_->set_payload_max(kPayloadMax);
    send({.type = FrameType::Hello}, encode_hello(ours), false);
}

void Connection::open_request(Frame frame) {
    if (open_.contains(frame.request_id)) {
        return refuse({ErrorCode::Corrupt, "request id used twice"});
    }
    if (open_.size() >= listener_->options.requests_max) {
        const Error error(ErrorCode::Unavailable, "too many requests on one connection");
        return send(
            {.type = FrameType::Error, .request_id = frame.request_id}, encode_error(error), false);
    }
    auto state = std::make_shared<Call::State>();
    state->id = frame.request_id;
    state->method = frame.method;
    state->payload = std::move(frame.payload);
    state->peer = peer_;
    state->traffic = traffic_;
    state->mailbox = listener_->mailbox;
    state->connection = weak_from_this();
    open_.emplace(state->id, state);
    listener_->handler(Call(std::move(state)));
    if (channel_->is_open() && traffic_->full()) channel_->pause_reading(true);
}

void Connection::take_stream_data(Frame frame) {
    const auto found = open_.find(frame.request_id);
    if (found == open_.end()) return;  // Answered or refused while the part was under way.
    const std::shared_ptr<Call::State> state = found->second;
    const bool last = !frame.more();
    state->take_part(std::move(frame.payload), last);
    if (state->over() || state->early_bytes <= kEarlyPartsMax) return;
    Call(state).fail({ErrorCode::InvalidArgument, "nothing takes the parts of this request"});
}

void Connection::cancel(std::uint64_t id) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    const std::shared_ptr<Call::State> state = found->second;
    open_.erase(found);
    if (state->answered.load() || state->cancelled.exchange(true)) return state->drop_callbacks();
    auto fn = std::move(state->on_cancel);
    state->drop_callbacks();
    if (fn) fn();
}

void Connection::cancel_all() {
    while (!open_.empty())
        cancel(open_.begin()->first);
}

void Connection::send(const FrameHead& head, std::string_view payload, bool counted) {
    if (!channel_->is_open()) return;
    if (!counted) traffic_->unsent += kFrameHeaderSize + payload.size();
    if (channel_->unsent() == 0) progress_at_ = SteadyClock::now();
    channel_->send(head, payload);
    // Sending may have run callbacks that ended the connection.
    if (!channel_->is_open()) return;
    if (channel_->unsent() <= listener_->options.write_buffer_max) return;
    on_lost({ErrorCode::Unavailable, "the client reads too slowly"});
}

void Connection::end_request(const Call::State& state,
                             const FrameHead& head,
                             std::string_view payload) {
    const auto self = shared_from_this();
    const auto found = open_.find(head.request_id);
    if (found == open_.end() || found->second.get() != &state) return;  // Cancelled meanwhile.
    const std::shared_ptr<Call::State> open = found->second;
    open_.erase(found);
    open->drop_callbacks();
    send(head, payload, false);
}

void Connection::on_sent(std::size_t bytes) {
    const auto self = shared_from_this();
    traffic_->unsent -= bytes;
    if (!traffic_->open_again()) return;
    channel_->pause_reading(false);
    if (traffic_->paused_calls.load() == 0) return;
    std::vector<std::shared_ptr<Call::State>> calls;
    for (const auto& [id, state] : open_)
        calls.push_back(state);
    for (const auto& state : calls)
        state->writable_if_paused();
}

void Connection::refuse(const Error& error) {
    const auto self = shared_from_this();
    if (channel_->is_open()) channel_->send({.type = FrameType::Error}, encode_error(error));
    on_lost(error);
}

void Connection::on_lost(const Error& /*error*/) {
    const auto self = shared_from_this();
    if (listener_ == nullptr) return;
    Listener& listener = *std::exchange(listener_, nullptr);
    const std::uint64_t number = number_;
    shut();
    listener.forget(number);
}

void Connection::shut() {
    const auto self = shared_from_this();
    channel_->close();
    cancel_all();
}

void Connection::check_times(SteadyClock::time_point now) {
    const ServerOptions& options = listener_->options;
    const std::uint64_t bytes = channel_->bytes_sent();
    if (greeted_ && (channel_->unsent() == 0 || bytes != progress_bytes_)) {
        progress_bytes_ = bytes;
        progress_at_ = now;
        return;
    }
    const Millis limit = greeted_ ? options.write_stall_max : options.hello_timeout;
    if (limit == Millis{0} || now - progress_at_ <= limit) return;
    refuse({ErrorCode::Unavailable, greeted_ ? "the client does not read" : "no greeting in time"});
}

Status Listener::open() {
    TRY(socket_, listen_unix(address_.unix_path, static_cast<mode_t>(options.socket_mode)));
    ::stat(address_.unix_path.c_str(), &socket_file_);
    return {};
}

void Listener::start() {
    accepting_ = loop.watch_fd(socket_.get(), kFdReadable, [this](FdEvents) { accept_some(); });
}

void Listener::accept_some() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
        UniqueFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd) {
            add(std::move(fd));
            continue;
        }
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
        // Out of descriptors or memory: the socket stays readable, so look away instead of
        // spinning.
        accepting_.set_events(0);
        accept_again_ = loop.after(kAcceptPause, [this] { accepting_.set_events(kFdReadable); });
        return;
    }
}

void Listener::add(UniqueFd fd) {
    const Result<PeerCredentials> credentials = peer_credentials(fd.get());
    if (!credentials) return;
    const bool user_is_full =
        credentials->uid != 0 && connections_of_.contains(credentials->uid) &&
        connections_of_.at(credentials->uid) >= options.connections_per_user_max;
    if (user_is_full || connections_.size() >= options.connections_max) {
        const Error error(ErrorCode::Unavailable, "too many connections");
        const std::string bytes = encode_frame({.type = FrameType::Error}, encode_error(error));
        (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    const std::uint64_t number = ++connections_made_;
    auto connection = std::make_shared<Connection>(*this, number, *credentials);
    connections_.emplace(number, connection);
    connections_count_ = connections_.size();
    ++connections_of_[credentials->uid];
    connection->start(std::move(fd));
    if (!sweeping_.active()) arm_sweep();
}

void Listener::arm_sweep() {
    const Millis shortest = options.write_stall_max == Millis{0}
                                ? options.hello_timeout
                                : std::min(options.hello_timeout, options.write_stall_max);
    const Millis period = std::clamp(shortest / 4, Millis{5}, Millis{1'000});
    sweeping_ = loop.after(period, [this] { sweep(); });
}

void Listener::sweep() {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(connections_.size());
    for (const auto& [number, connection] : connections_)
        all.push_back(connection);
    const auto now = SteadyClock::now();
    for (const auto& connection : all) {
        if (connection->attached()) connection->check_times(now);
    }
    cut_half_read(std::move(all));
    // Nobody there: the next connection starts it again, and an idle daemon stays asleep.
    if (!connections_.empty()) arm_sweep();
}

/// Keeps the half-read frames of all connections together under the limit; the largest go first.
void Listener::cut_half_read(std::vector<std::shared_ptr<Connection>> all) {
    std::size_t total = 0;
    for (const auto& connection : all)
        total += connection->half_read();
    if (total <= options.input_bytes_max) return;
    std::ranges::sort(all, std::ranges::greater{}, [](const auto& c) { return c->half_read(); });
    for (const auto& connection : all) {
        if (total <= options.input_bytes_max) return;
        total -= connection->half_read();
        if (connection->attached()) {
            connection->refuse({ErrorCode::Unavailable, "too much unfinished input"});
        }
    }
}

void Listener::forget(std::uint64_t number) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    const auto user = connections_of_.find(found->second->uid());
    if (--user->second == 0) connections_of_.erase(user);
    connections_.erase(found);
    connections_count_ = connections_.size();
}

void Listener::close() {
    if (!socket_) return;
    accepting_.cancel();
    accept_again_.cancel();
    sweeping_.cancel();
    mailbox->close();
    while (!connections_.empty()) {
        const std::shared_ptr<Connection> connection = connections_.begin()->second;
        connection->on_lost({ErrorCode::Unavailable, "the server stops"});
    }
    // Only if the file is still ours: another server may have replaced it after it was removed.
    struct stat now {};
    const char* path = address_.unix_path.c_str();
    const bool ours = ::stat(path, &now) == 0 && now.st_ino == socket_file_.st_ino &&
                      now.st_dev == socket_file_.st_dev;
    if (ours) ::unlink(path);
    socket_.reset();
}

namespace {

/// Sends the end of a request from whatever thread we are on.
void answer(const std::shared_ptr<Call::State>& state, FrameHead head, std::string payload) {
    if (state->answered.exchange(true)) return;
    head.request_id = state->id;
    state->mailbox->run([state, head, bytes = std::move(payload)] {
        if (const auto connection = state->connection.lock()) {
            connection->end_request(*state, head, bytes);
        }
    });
}

Error too_large(std::size_t size) {
    return {ErrorCode::InvalidArgument,
            "the answer of " + std::to_string(size) + " bytes does not fit one frame"};
}

}  // namespace

Call::Call(std::shared_ptr<State> state) : state_(std::move(state)) {}
Call::Call(Call&&) noexcept = default;

Call& Call::operator=(Call&& other) noexcept {
    if (this != &other) {
        const Call old(std::move(*this));
        state_ = std::move(other.state_);
    }
    return *this;
}

Call::~Call() {
    if (state_ == nullptr || state_->over()) return;
    fail({ErrorCode::Unavailable, "the request was dropped"});
}

const Peer& Call::peer() const {
    return *state_->peer;
}
std::uint16_t Call::method() const {
    return state_->method;
}
std::string& Call::payload() {
    return state_->payload;
}
bool Call::cancelled() const {
    return state_->cancelled.load();
}

void Call::reply(std::string bytes) {
    if (bytes.size() > kPayloadMax) return fail(too_large(bytes.size()));
    answer(state_, {.type = FrameType::Reply}, std::move(bytes));
}

Flow Call::send_part(std::string bytes) {
    if (bytes.size() > kPayloadMax) fail(too_large(bytes.size()));
    if (state_->over()) return Flow::Closed;
    Traffic& traffic = *state_->traffic;
    traffic.unsent += kFrameHeaderSize + bytes.size();
    const bool paused = traffic.full();
    // Marked before the bytes are on their way: whoever sends the last of them must see it.
    if (paused && !state_->paused.exchange(true)) ++traffic.paused_calls;
    const bool open = state_->mailbox->run([state = state_, bytes = std::move(bytes)] {
        const auto connection = state->connection.lock();
        if (!connection) return;
        if (state->cancelled.load()) {
            // Nobody wants it any more, but it was counted.
            return connection->on_sent(kFrameHeaderSize + bytes.size());
        }
        const FrameHead head{.type = FrameType::Reply, .flags = kFlagMore, .request_id = state->id};
        connection->send(head, bytes, true);
    });
    if (!open || state_->cancelled.load()) return Flow::Closed;
    return paused ? Flow::Paused : Flow::Open;
}

void Call::finish() {
    reply({});
}

void Call::fail(Error error) {
    answer(state_, {.type = FrameType::Error}, encode_error(error));
}

void Call::on_cancel(std::move_only_function<void()> fn) {
    state_->mailbox->run([state = state_, callback = std::move(fn)]() mutable {
        if (state->answered.load()) return;
        if (!state->cancelled.load()) {
            state->on_cancel = std::move(callback);
            return;
        }
        callback();
    });
}

void Call::on_writable(std::move_only_function<void()> fn) {
    state_->mailbox->run([state = state_, callback = std::move(fn)]() mutable {
        if (state->over()) return;
        state->on_writable = std::move(callback);
        state->writable_if_paused();
    });
}

void Call::on_part(std::move_only_function<void(std::string part, bool last)> fn) {
    state_->mailbox->run([state = state_, callback = std::move(fn)]() mutable {
        if (state->over()) return;
        state->on_part = std::move(callback);
        while (!state->early_parts.empty() && state->on_part) {
            auto [part, last] = std::move(state->early_parts.front());
            state->early_parts.pop_front();
            state->take_part(std::move(part), last);
        }
        state->early_bytes = 0;
    });
}

struct Server::Impl {
    std::unique_ptr<LoopThread> own;  // Before the listener: it goes last.
    std::unique_ptr<Listener> listener;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;

Server& Server::operator=(Server&& other) noexcept {
    if (this != &other) {
        if (impl_) stop();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

Server::~Server() {
    if (impl_) stop();
}

Result<Server> Server::listen(Loop& loop,
                              std::string_view address,
                              ServerOptions options,
                              Handler handler) {
    TRY(Address where, parse_address(address));
    auto impl = std::make_unique<Impl>();
    impl->listener =
        std::make_unique<Listener>(loop, std::move(where), std::move(options), std::move(handler));
    TRY_STATUS(impl->listener->open());
    impl->listener->start();
    return Server(std::move(impl));
}

Result<Server> Server::listen(std::string_view address, ServerOptions options, Handler handler) {
    TRY(Address where, parse_address(address));
    auto impl = std::make_unique<Impl>();
    impl->own = std::make_unique<LoopThread>();
    impl->listener = std::make_unique<Listener>(
        impl->own->loop(), std::move(where), std::move(options), std::move(handler));
    TRY_STATUS(impl->listener->open());
    impl->own->loop().post([listener = impl->listener.get()] { listener->start(); });
    return Server(std::move(impl));
}

void Server::stop() {
    if (impl_->own) impl_->own->join();
    impl_->listener->close();
}

std::size_t Server::connections() const {
    return impl_->listener->connections();
}

}  // namespace twinyard::rpc
