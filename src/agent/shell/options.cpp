#include "agent/shell/options.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/flags.h"

namespace twinyard::agent {
namespace {

template <class T>
Status take_number(std::string_view flag, const std::string& text, T& out) {
    if (text.empty()) return {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error == std::errc() && end == text.data() + text.size() && out > 0) return {};
    return fail(ErrorCode::InvalidArgument, std::string(flag) + " wants a number above zero");
}

Status check(const AgentOptions& options) {
    if (options.dir.empty() || options.dir.front() != '/')
        return fail(ErrorCode::InvalidArgument, "--dir must name an absolute path");
    if (options.controller.empty())
        return fail(ErrorCode::InvalidArgument, "--controller is missing");
    if (options.emulate == options.nodes_from.empty())
        return fail(ErrorCode::InvalidArgument, "--emulate and --nodes-from go together");
    return {};
}

std::string beside_us(std::string_view program) {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string_view own(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    return std::string(own.substr(0, own.rfind('/') + 1)) + std::string(program);
}

}  // namespace

Result<AgentOptions> parse_options(std::span<const char* const> args) {
    AgentOptions options;
    std::string cpus, memory;
    TRY_STATUS(parse_flags(args,
                           {{.name = "--dir", .value = &options.dir},
                            {.name = "--controller", .value = &options.controller},
                            {.name = "--node", .value = &options.node},
                            {.name = "--slurm-conf", .value = &options.slurm_conf},
                            {.name = "--bin", .value = &options.bin},
                            {.name = "--log", .value = &options.log},
                            {.name = "--stepd", .value = &options.stepd},
                            {.name = "--cpus", .value = &cpus},
                            {.name = "--memory", .value = &memory},
                            {.name = "--gpus", .value = &options.gpus},
                            {.name = "--shares-host", .given = &options.shares_host},
                            {.name = "--emulate", .given = &options.emulate},
                            {.name = "--nodes-from", .value = &options.nodes_from}}));
    TRY_STATUS(take_number("--cpus", cpus, options.cpus));
    TRY_STATUS(take_number("--memory", memory, options.memory_bytes));
    TRY_STATUS(check(options));
    if (options.stepd.empty()) options.stepd = beside_us("twinyard-stepd");
    return options;
}

}  // namespace twinyard::agent
