#include "rpc/client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/loop.h"
#include "rpc/mailbox.h"

// ClientCore lives on the loop: attempt() connects and greets, on_frame() routes answers, on_lost()
// fails what was sent and schedules the next attempt. Calls wait in line for a connection and for
// one of the slots that the server announced. Every entry point holds a reference to the core, as
// any callback may stop the client.

namespace twinyard::rpc {
namespace {

/// One call or stream, from call() to its only answer.
struct Pending {
    std::uint16_t method = 0;
    std::string payload;  // Until it is sent.
    bool sends_parts = false;
    bool sent = false;
    std::string joined;  // Parts of a call's answer.
    OnReply on_reply;    // Calls.
    OnPart on_part;      // Streams.
    OnEnd on_end;
    Timer deadline;
    std::vector<std::pair<std::string, bool>> parts_waiting;

    void end(Result<std::string> result) {
        if (on_reply) return on_reply(std::move(result));
        if (!on_end) return;
        if (!result) return on_end(fail(std::move(result).error()));
        if (!result->empty() && on_part) on_part(std::move(*result));
        on_end({});
    }
};

/// Largest answer of a call that the server may build up in parts.
constexpr std::size_t kJoinedMax = std::size_t{64} << 20;

}  // namespace

class ClientCore final : public ChannelUser, public std::enable_shared_from_this<ClientCore> {
  public:
    ClientCore(Loop& loop, Address address, ClientOptions options, ClientCallbacks callbacks)
        : loop_(loop),
          address_(std::move(address)),
          options_(std::move(options)),
          callbacks_(std::move(callbacks)),
          retry_delay_(options_.reconnect_delay_min) {}

    void attempt();
    void add(CallId id, Pending pending, Millis deadline);
    void send_part(CallId id, std::string part, bool last);
    void cancel(CallId id);
    void stop();
    [[nodiscard]] bool connected() const { return greeted_.load(); }

    void on_frame(Frame frame) override;
    void on_sent(std::size_t /*bytes*/) override {}
    void on_lost(const Error& error) override;

  private:
    void greet(const Frame& frame);
    void take_answer(Frame frame);
    void take_part(CallId id, std::string part);
    void end(CallId id, Result<std::string> result);
    void leave_line(CallId id, const Pending& pending);
    void end_soon(CallId id, Error error);
    void pump();
    void send_request(CallId id, Pending& pending);
    void send_stream_data(CallId id, std::string_view part, bool last);
    void disconnect(const Error& error);
    void retry_later();
    void watch_silence();
    void check_silence();
    [[nodiscard]] bool ready() const { return greeted_.load() && channel_ && channel_->is_open(); }

    Loop& loop_;
    const Address address_;
    const ClientOptions options_;
    const ClientCallbacks callbacks_;

    std::shared_ptr<Channel> channel_;  // Shared with its callbacks under way.
    std::atomic<bool> greeted_ = false;
    bool stopped_ = false;
    bool attempted_ = false;  // One attempt is over, well or not.
    std::size_t slots_ = 0;
    std::size_t slots_used_ = 0;
    Timer timer_;  // Before the greeting its time-out, between attempts the delay.
    Timer silence_;
    std::uint64_t silent_since_bytes_ = 0;
    int silent_intervals_ = 0;
    Millis retry_delay_;

    std::map<CallId, Pending> calls_;
    std::deque<CallId> line_;  // Calls not yet sent, oldest first.
};

void ClientCore::attempt() {
    const auto self = shared_from_this();
    if (stopped_) return;
    Result<UniqueFd> fd = connect_unix(address_.unix_path);
    if (!fd) return disconnect(fd.error());
    channel_ = std::make_shared<Channel>(loop_, std::move(*fd), *this);
    channel_->start();
    const Hello hello{.version_min = options_.version_min,
                      .version_max = options_.version_max,
                      .requests_max = 0,
                      .software = options_.software};
    channel_->send({.type = FrameType::Hello}, encode_hello(hello));
    timer_ = loop_.after(options_.connect_timeout, [this] {
        disconnect({ErrorCode::Unavailable, "no greeting from the server in time"});
    });
}

void ClientCore::on_frame(Frame frame) {
    const auto self = shared_from_this();
    if (frame.type == FrameType::Error && frame.request_id == 0) {
        return disconnect(decode_error(frame.payload));
    }
    if (!greeted_.load()) return greet(frame);
    switch (frame.type) {
        case FrameType::Reply:
        case FrameType::Error:
            return take_answer(std::move(frame));
        case FrameType::Ping:
            return channel_->send({.type = FrameType::Pong, .request_id = frame.request_id}, {});
        case FrameType::Pong:
            return;
        default:
            return disconnect({ErrorCode::Corrupt, "unexpected frame from the server"});
    }
}

void ClientCore::greet(const Frame& frame) {
    if (frame.type != FrameType::Hello) {
        return disconnect({ErrorCode::Corrupt, "no greeting from the server"});
    }
    const Result<Hello> theirs = decode_hello(frame.payload);
    if (!theirs) return disconnect(theirs.error());
    const Hello ours{.version_min = options_.version_min,
                     .version_max = options_.version_max,
                     .requests_max = 0,
                     .software = {}};
    const Result<std::uint16_t> version = common_version(ours, *theirs);
    if (!version) return disconnect(version.error());
    timer_.cancel();
    channel_->set_payload_max(kPayloadMax);
    retry_delay_ = options_.reconnect_delay_min;
    slots_ = std::max<std::size_t>(theirs->requests_max, 1);
    slots_used_ = 0;
    greeted_ = true;
    if (options_.ping_interval > Millis{0}) watch_silence();
    if (callbacks_.on_connected) callbacks_.on_connected(*version);
    pump();
}

void ClientCore::take_answer(Frame frame) {
    if (frame.type == FrameType::Error) {
        return end(frame.request_id, fail(decode_error(frame.payload)));
    }
    if (frame.more()) return take_part(frame.request_id, std::move(frame.payload));
    const auto found = calls_.find(frame.request_id);
    if (found == calls_.end()) return;  // Cancelled while the answer was under way.
    if (!found->second.joined.empty()) {
        frame.payload.insert(0, std::exchange(found->second.joined, {}));
    }
    end(frame.request_id, std::move(frame.payload));
}

void ClientCore::take_part(CallId id, std::string part) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Pending& pending = found->second;
    if (pending.on_reply) {
        if (pending.joined.size() + part.size() <= kJoinedMax) {
            pending.joined += part;
            return;
        }
        end(id, fail(ErrorCode::InvalidArgument, "the answer is too large"));
        if (ready()) channel_->send({.type = FrameType::Cancel, .request_id = id}, {});
        return;
    }
    // Out of the table while it runs: it may cancel its own stream.
    OnPart fn = std::move(pending.on_part);
    if (fn) fn(std::move(part));
    const auto again = calls_.find(id);
    if (again != calls_.end()) again->second.on_part = std::move(fn);
}

void ClientCore::end(CallId id, Result<std::string> result) {
    const auto self = shared_from_this();
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Pending pending = std::move(found->second);
    calls_.erase(found);
    leave_line(id, pending);
    pending.deadline.cancel();
    pending.end(std::move(result));
    pump();
}

void ClientCore::leave_line(CallId id, const Pending& pending) {
    if (pending.sent) {
        --slots_used_;
    } else {
        std::erase(line_, id);
    }
}

/// For failures found inside call(): its caller must have returned before the callback runs.
void ClientCore::end_soon(CallId id, Error error) {
    const auto late = [weak = weak_from_this(), id, cause = std::move(error)] {
        if (const auto self = weak.lock()) self->end(id, fail(cause));
    };
    loop_.post(late);
}

void ClientCore::add(CallId id, Pending pending, Millis deadline) {
    const bool line_full = line_.size() >= options_.calls_waiting_max;
    const bool unsent_full =
        channel_ && channel_->unsent() + pending.payload.size() > options_.write_buffer_max;
    const bool hopeless = !options_.reconnect && attempted_ && !(channel_ && channel_->is_open());
    const bool too_large = pending.payload.size() > kPayloadMax;
    calls_.emplace(id, std::move(pending));
    if (stopped_) return;  // stop() is emptying the mailbox and fails it next.
    if (too_large) return end_soon(id, {ErrorCode::InvalidArgument, "the request is too large"});
    if (line_full || unsent_full) {
        return end_soon(id, {ErrorCode::Unavailable, "too many calls are waiting for the server"});
    }
    if (hopeless) return end_soon(id, {ErrorCode::Unavailable, "not connected"});
    if (deadline > Millis{0}) {
        calls_.at(id).deadline = loop_.after(deadline, [this, id] {
            const auto self = shared_from_this();
            const bool sent = calls_.at(id).sent;
            if (sent && ready()) channel_->send({.type = FrameType::Cancel, .request_id = id}, {});
            end(id, fail(ErrorCode::Unavailable, "no answer within the deadline"));
        });
    }
    line_.push_back(id);
    pump();
}

/// Sends what is in line, as far as there are slots.
void ClientCore::pump() {
    while (ready() && slots_used_ < slots_ && !line_.empty()) {
        const CallId id = line_.front();
        line_.pop_front();
        send_request(id, calls_.at(id));
    }
}

void ClientCore::send_request(CallId id, Pending& pending) {
    pending.sent = true;
    ++slots_used_;
    const std::string payload = std::exchange(pending.payload, {});
    const FrameHead head{.type = FrameType::Request,
                         .flags = pending.sends_parts ? kFlagMore : std::uint8_t{0},
                         .method = pending.method,
                         .request_id = id};
    channel_->send(head, payload);
    for (const auto& [part, last] : std::exchange(pending.parts_waiting, {})) {
        send_stream_data(id, part, last);
    }
}

void ClientCore::send_part(CallId id, std::string part, bool last) {
    const auto self = shared_from_this();
    const auto found = calls_.find(id);
    if (found == calls_.end() || stopped_) return;
    if (!found->second.sent) {
        found->second.parts_waiting.emplace_back(std::move(part), last);
        return;
    }
    if (!ready()) return;
    if (channel_->unsent() + part.size() > options_.write_buffer_max) {
        channel_->send({.type = FrameType::Cancel, .request_id = id}, {});
        return end_soon(id, {ErrorCode::Unavailable, "the server reads too slowly"});
    }
    send_stream_data(id, part, last);
}

void ClientCore::send_stream_data(CallId id, std::string_view part, bool last) {
    do {
        const std::string_view piece = part.substr(0, kPayloadMax);
        part.remove_prefix(piece.size());
        const bool more = !last || !part.empty();
        const FrameHead head{.type = FrameType::StreamData,
                             .flags = more ? kFlagMore : std::uint8_t{0},
                             .request_id = id};
        channel_->send(head, piece);
    } while (!part.empty());
}

void ClientCore::cancel(CallId id) {
    const auto self = shared_from_this();
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const Pending pending = std::move(found->second);
    calls_.erase(found);
    leave_line(id, pending);
    if (!pending.sent) return;
    if (ready()) channel_->send({.type = FrameType::Cancel, .request_id = id}, {});
    pump();
}

void ClientCore::on_lost(const Error& error) {
    disconnect(error);
}

void ClientCore::disconnect(const Error& error) {
    const auto self = shared_from_this();
    if (channel_) channel_->close();
    timer_.cancel();
    silence_.cancel();
    attempted_ = true;
    const bool was_connected = greeted_.exchange(false);
    std::vector<CallId> over;
    for (const auto& [id, pending] : calls_) {
        if (pending.sent || !options_.reconnect) over.push_back(id);
    }
    if (options_.reconnect && !stopped_) retry_later();
    for (const CallId id : over)
        end(id, fail(ErrorCode::Unavailable, error.message()));
    if (!stopped_ && callbacks_.on_disconnected) callbacks_.on_disconnected(error, was_connected);
}

void ClientCore::retry_later() {
    timer_ = loop_.after(retry_delay_, [this] { attempt(); });
    retry_delay_ = std::min(retry_delay_ * 2, options_.reconnect_delay_max);
}

void ClientCore::watch_silence() {
    silent_intervals_ = 0;
    silent_since_bytes_ = channel_->bytes_read();
    silence_ = loop_.after(options_.ping_interval, [this] { check_silence(); });
}

void ClientCore::check_silence() {
    const auto self = shared_from_this();
    if (!ready()) return;
    if (channel_->bytes_read() != silent_since_bytes_) return watch_silence();
    if (++silent_intervals_ > 2) {
        return disconnect({ErrorCode::Unavailable, "the server has fallen silent"});
    }
    channel_->send({.type = FrameType::Ping, .request_id = 1}, {});
    silence_ = loop_.after(options_.ping_interval, [this] { check_silence(); });
}

void ClientCore::stop() {
    const auto self = shared_from_this();
    stopped_ = true;
    greeted_ = false;
    timer_.cancel();
    silence_.cancel();
    if (channel_) channel_->close();
    while (!calls_.empty()) {
        end(calls_.begin()->first, fail(ErrorCode::Unavailable, "the client was stopped"));
    }
}

struct Client::Impl {
    std::unique_ptr<LoopThread> own;   // Before the core: it goes last.
    std::shared_ptr<Mailbox> mailbox;  // Shared with what waits in the loop.
    std::shared_ptr<ClientCore> core;  // Shared with callbacks under way.
    std::atomic<CallId> calls_made = 0;

    void start(Loop& loop, Address address, ClientOptions options, ClientCallbacks callbacks);
    CallId add(Pending pending, Millis deadline);
};

void Client::Impl::start(Loop& loop,
                         Address address,
                         ClientOptions options,
                         ClientCallbacks callbacks) {
    mailbox = std::make_shared<Mailbox>(loop);
    core = std::make_shared<ClientCore>(
        loop, std::move(address), std::move(options), std::move(callbacks));
    loop.post([weak = std::weak_ptr(core)] {
        if (const auto alive = weak.lock()) alive->attempt();
    });
}

CallId Client::Impl::add(Pending pending, Millis deadline) {
    const CallId id = ++calls_made;
    // Held outside the closure too, so that a stopped client can still answer.
    auto held = std::make_shared<Pending>(std::move(pending));
    const bool open = mailbox->run(
        [target = core, id, held, deadline] { target->add(id, std::move(*held), deadline); });
    if (!open) held->end(fail(ErrorCode::Unavailable, "the client was stopped"));
    return id;
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;

Client& Client::operator=(Client&& other) noexcept {
    if (this != &other) {
        if (impl_) stop();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

Client::~Client() {
    if (impl_) stop();
}

Result<Client> Client::connect(std::string_view address,
                               ClientOptions options,
                               ClientCallbacks callbacks) {
    TRY(Address where, parse_address(address));
    auto impl = std::make_unique<Impl>();
    impl->own = std::make_unique<LoopThread>();
    Loop& loop = impl->own->loop();
    impl->start(loop, std::move(where), std::move(options), std::move(callbacks));
    return Client(std::move(impl));
}

Result<Client> Client::connect(Loop& loop,
                               std::string_view address,
                               ClientOptions options,
                               ClientCallbacks callbacks) {
    TRY(Address where, parse_address(address));
    auto impl = std::make_unique<Impl>();
    impl->start(loop, std::move(where), std::move(options), std::move(callbacks));
    return Client(std::move(impl));
}

bool Client::connected() const {
    return impl_->core->connected();
}

CallId Client::call(std::uint16_t method, std::string payload, Millis deadline, OnReply on_reply) {
    Pending pending;
    pending.method = method;
    pending.payload = std::move(payload);
    pending.on_reply = std::move(on_reply);
    return impl_->add(std::move(pending), deadline);
}

CallId Client::open_stream(StreamRequest request, OnPart on_part, OnEnd on_end) {
    Pending pending;
    pending.method = request.method;
    pending.payload = std::move(request.payload);
    pending.sends_parts = request.sends_parts;
    pending.on_part = std::move(on_part);
    pending.on_end = std::move(on_end);
    return impl_->add(std::move(pending), request.deadline);
}

void Client::send_part(CallId stream, std::string part, bool last) {
    impl_->mailbox->run([core = impl_->core, stream, part = std::move(part), last]() mutable {
        core->send_part(stream, std::move(part), last);
    });
}

void Client::cancel(CallId call) {
    impl_->mailbox->run([core = impl_->core, call] { core->cancel(call); });
}

void Client::stop() {
    if (impl_->own) impl_->own->join();
    impl_->mailbox->close();
    impl_->core->stop();
}

}  // namespace twinyard::rpc
