#include "api/stepd.h"

#include <cstdio>
#include <string>

#include "base/flags.h"
#include "base/text.h"
#include "os/log.h"
#include "step/shell/daemon.h"

namespace twinyard {
namespace {

using api::StepdFlags;

Result<step::StepdOptions> read_options(std::span<const char* const> args) {
    step::StepdOptions options;
    std::string ready_fd;
    TRY_STATUS(parse_flags(args,
                           {{.name = StepdFlags::kDir, .value = &options.dir},
                            {.name = StepdFlags::kNode, .value = &options.node},
                            {.name = StepdFlags::kNodeDir, .value = &options.node_dir},
                            {.name = StepdFlags::kContainers, .value = &options.containers},
                            {.name = StepdFlags::kSlurmConf, .value = &options.slurm_conf},
                            {.name = StepdFlags::kBin, .value = &options.bin},
                            {.name = StepdFlags::kNodeHostname, .given = &options.node_hostname},
                            {.name = StepdFlags::kCpusetAlone, .given = &options.cpuset_alone},
                            {.name = StepdFlags::kLog, .value = &options.log},
                            {.name = StepdFlags::kReadyFd, .value = &ready_fd}}));
    const bool complete = !options.dir.empty() && !options.node.empty() &&
                          !options.node_dir.empty() && !options.containers.empty();
    if (!complete) {
        return fail(ErrorCode::InvalidArgument,
                    "--dir, --node, --node-dir and --containers must be given");
    }
    if (!ready_fd.empty()) {
        TRY(options.ready_fd, parse_number<int>(ready_fd, 0));
    }
    if (options.log.empty()) options.log = options.dir + '/' + std::string(api::StepdFiles::kLog);
    return options;
}

}  // namespace
}  // namespace twinyard

int main(int argc, char** argv) {
    using namespace twinyard;  // NOLINT(google-build-using-namespace)
    const auto options = read_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    Status status = options ? Status() : Status(fail(options.error()));
    if (status) {
        os::open_log(options->log, os::LogLevel::Info);
        status = step::run_stepd(*options);
    }
    if (status) return 0;
    std::fprintf(stderr, "twinyard-stepd: %s\n", status.error().message().c_str());
    os::log_error("{}", status.error().message());
    return 1;
}
