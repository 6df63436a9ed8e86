#include "agent/shell/stepd_link.h"

#include <utility>

#include "os/log.h"
#include "rpc/loop.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::agent {
namespace {

constexpr Millis kReconnectMin{20};
constexpr Millis kReconnectMax{1'000};
constexpr Millis kAnswerPatience{30'000};

constexpr std::uint16_t number(wire::Method method) {
    return static_cast<std::uint16_t>(method);
}

void log_refusal(const Result<std::string>& answer) {
    if (!answer)
        os::log_warning("a step daemon did not take an order: {}", answer.error().message());
}

}  // namespace

Result<std::unique_ptr<StepdLink>> StepdLink::open(rpc::Loop& loop,
                                                   const std::string& socket,
                                                   StepdCallbacks callbacks) {
    std::unique_ptr<StepdLink> link(new StepdLink(std::move(callbacks)));
    StepdLink* self = link.get();
    rpc::ClientOptions options;
    options.reconnect_delay_min = kReconnectMin;
    options.reconnect_delay_max = kReconnectMax;
    rpc::ClientCallbacks on_change{.on_connected =
                                       [self](std::uint16_t) {
                                           self->watch();
                                           self->callbacks_.on_connected();
                                       },
                                   .on_disconnected =
                                       [self](const Error&, bool) {
                                           if (!self->closed_) self->callbacks_.on_lost();
                                       }};
    TRY(link->client_, rpc::Client::connect(loop, "unix:" + socket, options, std::move(on_change)));
    return link;
}

StepdLink::~StepdLink() {
    closed_ = true;
    client_.reset();
}

void StepdLink::watch() {
    rpc::StreamRequest runs;
    runs.method = number(wire::Method::StepdWatch);
    (void)client_->open_stream(
        std::move(runs),
        [this](const std::string& part) {
            Result<api::ObservedRun> run = wire::decode<api::ObservedRun>(part);
            if (run) callbacks_.on_run(std::move(*run));
        },
        [](const Status&) {});
    rpc::StreamRequest steps;
    steps.method = number(wire::Method::StepdSteps);
    (void)client_->open_stream(
        std::move(steps),
        [this](const std::string& part) {
            Result<api::StepRecord> record = wire::decode<api::StepRecord>(part);
            if (record) callbacks_.on_step(std::move(*record));
        },
        [](const Status&) {});
}

void StepdLink::order(const api::DesiredRun& run) {
    if (!client_->connected()) return;
    (void)client_->call(
        number(wire::Method::StepdOrder), wire::encode(run), kAnswerPatience, log_refusal);
}

void StepdLink::signal(const api::SignalOrder& order) {
    if (!client_->connected()) return;
    (void)client_->call(
        number(wire::Method::StepdSignal), wire::encode(order), kAnswerPatience, log_refusal);
}

}  // namespace twinyard::agent
