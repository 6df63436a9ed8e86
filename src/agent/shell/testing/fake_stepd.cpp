// Plays twinyard-stepd for the agent's tests: keeps to api/stepd.h and runs nothing. What it does
// when told to go is the job's name: "quick" ends with exit code 3, "stay" waits to be stopped,
// "vanish" dies without a word.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/stepd.h"
#include "os/files.h"
#include "os/process_id.h"
#include "rpc/loop.h"
#include "rpc/server.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard {
namespace {

using api::Phase;
using api::StepdFiles;

class FakeStepd {
  public:
    FakeStepd(rpc::Loop& loop, std::string folder, api::LaunchOrder order)
        : loop_(loop), folder_(std::move(folder)), order_(std::move(order)) {
        seen_.key = order_.key;
        seen_.phase = Phase::Ready;
        seen_.address = "unix:" + file(StepdFiles::kSocket);
        seen_.has_batch = order_.grant_index == 0;
    }

    [[nodiscard]] std::string file(std::string_view name) const {
        return folder_ + '/' + std::string(name);
    }

    void handle(rpc::Call call) {
        switch (static_cast<wire::Method>(call.method())) {
            case wire::Method::StepdWatch:
                (void)call.send_part(wire::encode(seen_));
                watchers_.push_back(std::move(call));
                return;
            case wire::Method::StepdSteps:
                steps_.push_back(std::move(call));
                return;
            case wire::Method::StepdOrder:
                obey(wire::decode<api::DesiredRun>(call.payload()).value());
                return call.reply({});
            default:
                return call.reply({});
        }
    }

  private:
    void obey(const api::DesiredRun& run) {
        if (run.stage == api::Stage::Stop) return end(model::EndKind::Cancelled, 0);
        if (run.stage != api::Stage::Go || seen_.phase != Phase::Ready) return;
        if (order_.name == "vanish") ::_exit(9);
        show(Phase::Running);
        if (order_.name == "quick") end(model::EndKind::Failed, 3);
    }
    void show(Phase phase) {
        seen_.phase = phase;
        for (rpc::Call& watcher : watchers_)
            (void)watcher.send_part(wire::encode(seen_));
    }
    void end(model::EndKind kind, int code) {
        if (seen_.phase == Phase::Ended) return;
        seen_.outcome = {.kind = kind, .exit_code = code};
        seen_.phase = Phase::Ended;
        api::StepRecord step;
        step.key = order_.key;
        step.step = 7;
        std::string steps;
        wire::append_row(step, steps);
        (void)os::write_file_atomic(file(StepdFiles::kSteps), steps);
        (void)os::write_file_atomic(file(StepdFiles::kExit), wire::encode(seen_));
        on_term_ = loop_.on_signal(SIGTERM, [this] { loop_.stop(); });
        show(Phase::Ended);
    }

    rpc::Loop& loop_;
    std::string folder_;
    api::LaunchOrder order_;
    api::ObservedRun seen_;
    std::vector<rpc::Call> watchers_, steps_;
    rpc::Watch on_term_;
};

int run(const std::string& folder, int ready_fd) {
    const auto lock = os::lock_file(folder + "/lock");
    const auto bytes = os::read_file(folder + "/launch");
    if (!lock || !bytes || !os::read_file(folder + "/environment")) return 1;
    (void)os::write_pid_file(folder + "/pid", os::own_process_id());
    rpc::Loop loop;
    FakeStepd stepd(loop, folder, wire::decode<api::LaunchOrder>(*bytes).value());
    const auto server =
        rpc::Server::listen(loop, "unix:" + folder + "/stepd.sock", {}, [&](rpc::Call call) {
            stepd.handle(std::move(call));
        });
    if (!server || ::write(ready_fd, "r", 1) != 1) return 1;
    ::close(ready_fd);
    loop.run();
    return 0;
}

}  // namespace
}  // namespace twinyard

int main(int argc, char** argv) {
    std::string folder;
    int ready_fd = -1;
    for (int i = 1; i + 1 < argc; ++i) {
        if (argv[i] == twinyard::api::StepdFlags::kDir) folder = argv[i + 1];
        if (argv[i] == twinyard::api::StepdFlags::kReadyFd) ready_fd = std::atoi(argv[i + 1]);
    }
    return twinyard::run(folder, ready_fd);
}
