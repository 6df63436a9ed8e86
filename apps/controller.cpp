#include "controller/shell/controller.h"

#include <csignal>
#include <cstdio>
#include <string>

#include "accounting/sqlite/sqlite_accounting.h"
#include "base/flags.h"
#include "controller/shell/config_files.h"
#include "os/files.h"
#include "os/log.h"
#include "rpc/loop.h"
#include "store/sqlite/sqlite_store.h"

namespace twinyard {
namespace {

struct Flags {
    std::string dir, config, nodes, heartbeat_ms = "5000";
};

Status run(const Flags& flags) {
    const std::string state = flags.dir + "/state";
    TRY_STATUS(os::make_private_folder(state));
    TRY(const auto store, store::SqliteStore::open({.folder = state}));
    TRY(const auto history, accounting::SqliteAccounting::open(state + "/history.db"));
    rpc::Loop loop;
    std::string fatal;
    controller::ControllerOptions options{.socket_path = flags.dir + "/run/controller.sock",
                                          .cluster_secret_path = state + "/cluster.secret",
                                          .heartbeat = Millis(std::stoll(flags.heartbeat_ms))};
    const auto on_fatal = [&](const std::string& why) {
        os::log_error("the controller ends: {}", why);
        fatal = why;
        loop.stop();
    };
    auto started = controller::Controller::start(
        std::move(options),
        *store,
        *history,
        controller::config_files(flags.config, flags.dir + "/twinyard.yaml", flags.nodes),
        on_fatal);
    if (!started) return fail(std::move(started).error());
    const auto on_term = loop.on_signal(SIGTERM, [&] { loop.stop(); });
    const auto on_int = loop.on_signal(SIGINT, [&] { loop.stop(); });
    const auto on_hup = loop.on_signal(SIGHUP, [&] {
        os::reopen_log();
        (*started)->reconfigure();
    });
    loop.run();
    started->reset();
    return fatal.empty() ? Status() : Status(fail(ErrorCode::Conflict, fatal));
}

}  // namespace
}  // namespace twinyard

int main(int argc, char** argv) {
    using namespace twinyard;  // NOLINT(google-build-using-namespace)
    Flags flags;
    std::string log;
    Status status = parse_flags({argv + 1, static_cast<std::size_t>(argc - 1)},
                                {{.name = "--dir", .value = &flags.dir},
                                 {.name = "--config", .value = &flags.config},
                                 {.name = "--nodes", .value = &flags.nodes},
                                 {.name = "--heartbeat-ms", .value = &flags.heartbeat_ms},
                                 {.name = "--log", .value = &log}});
    if (status && flags.dir.empty()) status = fail(ErrorCode::InvalidArgument, "--dir is missing");
    if (status) {
        os::open_log(log, os::LogLevel::Info);
        status = run(flags);
    }
    if (status) return 0;
    std::fprintf(stderr, "twinyard-controller: %s\n", status.error().message().c_str());
    os::log_error("{}", status.error().message());
    return 1;
}
