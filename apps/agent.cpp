#include "agent/shell/agent.h"

#include <cstdio>
#include <string>

#include "agent/shell/options.h"
#include "os/log.h"

int main(int argc, char** argv) {
    using namespace twinyard;  // NOLINT(google-build-using-namespace)
    const auto options = agent::parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (!options) {
        std::fprintf(stderr, "twinyard-agent: %s\n", options.error().message().c_str());
        return 2;
    }
    os::open_log(options->log, os::LogLevel::Info);
    const Status status = agent::run_agent(*options);
    if (status) return 0;
    std::fprintf(stderr, "twinyard-agent: %s\n", status.error().message().c_str());
    os::log_error("{}", status.error().message());
    return 1;
}
