#include "agent/shell/controller_link.h"

#include <utility>

#include "agent/core/agent_core.h"
#include "os/log.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::agent {
namespace {

/// Before the order stream is opened again on a connection that is still up.
constexpr Millis kStreamPause{1'000};
/// A peer that is silent for two of these is gone.
constexpr Millis kPingInterval{10'000};
constexpr Millis kBlobPatience{60'000};

constexpr std::uint16_t number(wire::Method method) {
    return static_cast<std::uint16_t>(method);
}

}  // namespace

Result<std::unique_ptr<ControllerLink>> ControllerLink::open(rpc::Loop& loop,
                                                             const std::string& address,
                                                             OnEvent on_event) {
    std::unique_ptr<ControllerLink> link(new ControllerLink(loop, std::move(on_event)));
    rpc::ClientOptions options;
    options.ping_interval = kPingInterval;
    options.reconnect_delay_max = Millis{1'000};
    ControllerLink* self = link.get();
    rpc::ClientCallbacks callbacks{.on_connected = [self](std::uint16_t) { self->on_connected(); },
                                   .on_disconnected =
                                       [self](const Error& error, bool) {
                                           if (std::exchange(self->told_down_, true)) return;
                                           os::log_warning("no controller: {}", error.message());
                                       }};
    TRY(link->client_, rpc::Client::connect(loop, address, options, std::move(callbacks)));
    return link;
}

ControllerLink::~ControllerLink() {
    closed_ = true;
    client_.reset();
}

void ControllerLink::raise(Event event) {
    if (!closed_) on_event_(std::move(event));
}

void ControllerLink::on_connected() {
    told_down_ = false;
    os::log_info("connected to the controller");
    raise(ConnectionUp{});
}

void ControllerLink::send(const SendHello& hello) {
    rpc::StreamRequest request;
    request.method = number(wire::Method::AgentStream);
    request.payload = wire::encode(hello.hello);
    if (stream_) client_->cancel(*stream_);
    stream_ = client_->open_stream(
        std::move(request),
        [this](const std::string& part) {
            Result<api::AgentOrders> orders = wire::decode<api::AgentOrders>(part);
            if (orders) return raise(OrdersReceived{std::move(*orders)});
            os::log_error("orders that cannot be read: {}", orders.error().message());
        },
        [this](const Status& end) { on_stream_end(end); });
}

void ControllerLink::on_stream_end(const Status& end) {
    stream_.reset();
    if (closed_) return;
    os::log_warning("the order stream ended: {}", end ? "finished" : end.error().message());
    raise(ConnectionDown{});
    come_again();
}

/// If the connection itself was lost, on_connected() is faster.
void ControllerLink::come_again() {
    again_ = loop_.after(kStreamPause, [this] {
        if (!stream_ && client_->connected()) raise(ConnectionUp{});
    });
}

void ControllerLink::drop(const DropConnection& reason) {
    os::log_warning("leaving the controller: {}", reason.why);
    if (stream_) client_->cancel(*stream_);
    stream_.reset();
    come_again();
}

void ControllerLink::send(SendReport report) {
    const std::uint64_t seq = report.seq;
    (void)client_->call(number(wire::Method::AgentReport),
                        wire::encode(report.report),
                        kReportPatience,
                        [this, seq](const Result<std::string>& answer) {
                            if (seq == 0) return;
                            if (answer) return raise(ReportAcked{seq});
                            raise(ReportFailed{seq});
                        });
}

void ControllerLink::fetch(const ContentHash& hash, OnBlob on_blob) {
    struct Fetched {
        std::string bytes;
        OnBlob on_blob;
    };
    // Shared by the two callbacks of the stream.
    auto fetched = std::make_shared<Fetched>(std::string(), std::move(on_blob));
    rpc::StreamRequest request;
    request.method = number(wire::Method::FetchBlob);
    request.payload.assign(hash.bytes.begin(), hash.bytes.end());
    request.deadline = kBlobPatience;
    (void)client_->open_stream(
        std::move(request),
        [fetched](const std::string& part) {
            if (fetched->bytes.size() <= kBlobBytesMax) fetched->bytes += part;
        },
        [this, fetched, hash](const Status& end) {
            if (closed_) return;
            if (!end) return fetched->on_blob(fail(Error(end.error())));
            if (content_hash(fetched->bytes) != hash)
                return fetched->on_blob(fail(ErrorCode::Corrupt, "blob with another content"));
            fetched->on_blob(std::move(fetched->bytes));
        });
}

}  // namespace twinyard::agent
