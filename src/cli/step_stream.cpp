// The real stream of a step: our wire to the step daemon, stdin and a signalfd in one poll.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/cluster.h"
#include "cli/step_run.h"
#include "client/connection.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::cli {

namespace {

constexpr std::size_t kInputPiece = std::size_t{64} << 10;
constexpr auto kPassedOn =
    std::to_array<int>({SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT});

class RealStepStream final : public StepStream {
  public:
    RealStepStream(client::Connection connection, int signals)
        : connection_(std::move(connection)), signals_(signals) {}
    ~RealStepStream() override { ::close(signals_); }

    Status start(const api::StepRequest& request) override {
        const auto method = static_cast<std::uint16_t>(wire::Method::RunStep);
        return connection_.start(method, wire::encode(request), true);
    }

    Status send(const api::StepEvent& event) override {
        return connection_.send_stream_part(wire::encode(event), false);
    }

    Result<StepHappening> next(bool with_input) override {
        for (;;) {
            TRY(const client::Event event, connection_.read_event(client::Wait::No));
            if (event.kind != client::Event::Kind::None) return of_event(event);
            std::array<pollfd, 3> sources{{{connection_.fd(), POLLIN, 0},
                                           {signals_, POLLIN, 0},
                                           {with_input ? STDIN_FILENO : -1, POLLIN, 0}}};
            if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
                return fail(ErrorCode::Unavailable, std::strerror(errno));
            if (sources[1].revents != 0) {
                signalfd_siginfo info{};
                if (::read(signals_, &info, sizeof info) == sizeof info) {
                    return StepHappening{.kind = StepHappening::Kind::Signal,
                                         .signal = static_cast<std::int32_t>(info.ssi_signo)};
                }
            }
            if (sources[0].revents == 0 && sources[2].revents != 0) return read_input();
        }
    }

  private:
    static Result<StepHappening> of_event(const client::Event& event) {
        StepHappening happening;
        if (event.kind == client::Event::Kind::End && event.payload.empty()) return happening;
        happening.kind = StepHappening::Kind::Event;
        TRY(happening.event, wire::decode<api::StepEvent>(event.payload));
        return happening;
    }

    /// A stdin that cannot be read has ended.
    static StepHappening read_input() {
        StepHappening happening{.kind = StepHappening::Kind::Input};
        happening.input.resize(kInputPiece);
        const ssize_t got = ::read(STDIN_FILENO, happening.input.data(), kInputPiece);
        happening.input.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return happening;
    }

    client::Connection connection_;
    int signals_;
};

}  // namespace

Result<std::unique_ptr<StepStream>> open_step_stream(const std::string& socket_path) {
    TRY(client::Connection connection, client::Connection::open(socket_path, kMessageTimeout));
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kPassedOn)
        sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) return fail(ErrorCode::Unavailable, std::strerror(errno));
    return std::make_unique<RealStepStream>(std::move(connection), signals);
}

}  // namespace twinyard::cli
