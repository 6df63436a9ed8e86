#include "up/up_options.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/duration_text.h"
#include "base/flags.h"
#include "base/text.h"
#include "os/files.h"

namespace twinyard::up {
namespace {

Result<std::uint32_t> count_of(std::string_view what, const std::string& text, std::uint32_t max) {
    auto number = parse_number<std::uint32_t>(text, 1, max);
    if (!number) return fail(std::move(number).error().in(what));
    return *number;
}

Result<std::int64_t> memory_of(std::string_view what, const std::string& text) {
    auto bytes = parse_size(text);
    if (!bytes) return fail(std::move(bytes).error().in(what));
    if (*bytes <= 0)
        return fail(ErrorCode::InvalidArgument,
                    std::string(what) + ": memory must be more than nothing");
    return *bytes;
}

Result<std::string> gpus_of(std::string_view what, const std::string& text) {
    const auto parts = split_once(text, ':');
    if (!parts || parts->first.empty() || !parse_number<std::uint32_t>(parts->second, 1, 64)) {
        return fail(ErrorCode::InvalidArgument,
                    std::string(what) + ": '" + printable(text, 60) +
                        "' is not TYPE:COUNT, such as h100:8 (64 at most)");
    }
    return text;
}

Status check_together(const UpOptions& options) {
    if (options.emulate && options.nodes != 0) {
        return fail(ErrorCode::InvalidArgument,
                    "--emulate and --nodes exclude each other: emulated nodes run no scripts");
    }
    if (options.config.empty() || access(options.config.c_str(), R_OK) == 0) return {};
    return fail(ErrorCode::NotFound, "--config: " + options.config + " cannot be read");
}

struct Words {
    std::string dir, nodes, gpus, cpus, memory, config, emulate;
    bool detach = false;

    std::string* named(std::string_view key) {
        if (key == "nodes") return &nodes;
        if (key == "gpus") return &gpus;
        if (key == "cpus") return &cpus;
        if (key == "memory") return &memory;
        if (key == "config") return &config;
        return key == "emulate" ? &emulate : nullptr;
    }
};

Result<UpOptions> understand(const Words& words) {
    UpOptions options{.dir = absolute(words.dir), .detach = words.detach};
    if (!words.nodes.empty()) {
        TRY(options.nodes, count_of("--nodes", words.nodes, kRealNodesMax));
    }
    if (!words.gpus.empty()) {
        TRY(options.gpus, gpus_of("--gpus", words.gpus));
    }
    if (!words.cpus.empty()) {
        TRY(options.cpus, count_of("--cpus", words.cpus, 65'535));
    }
    if (!words.memory.empty()) {
        TRY(options.memory_bytes, memory_of("--memory", words.memory));
    }
    if (!words.config.empty()) options.config = absolute(words.config);
    if (!words.emulate.empty()) {
        const auto spec = parse_emulate(words.emulate);
        if (!spec) return fail(spec.error());
        options.emulate = words.emulate;
    }
    TRY_STATUS(check_together(options));
    return options;
}

}  // namespace

std::string absolute(const std::string& path) {
    if (path.starts_with('/')) return path;
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == nullptr) return path;
    return std::string(here) + '/' + path;
}

Result<EmulateSpec> parse_emulate(const std::string& text) {
    EmulateSpec spec;
    for (const std::string_view item : split(text, ',')) {
        const auto parts = split_once(item, '=');
        const std::string key(parts ? parts->first : item);
        const std::string value(parts ? parts->second : std::string_view());
        if (key == "nodes") {
            TRY(spec.nodes, count_of("--emulate nodes", value, kEmulatedNodesMax));
        } else if (key == "gpus") {
            TRY(spec.gpus, gpus_of("--emulate gpus", value));
        } else if (key == "cpus") {
            TRY(spec.cpus, count_of("--emulate cpus", value, 65'535));
        } else if (key == "memory") {
            TRY(spec.memory_bytes, memory_of("--emulate memory", value));
        } else {
            return fail(
                ErrorCode::InvalidArgument,
                "--emulate: '" + printable(key, 40) + "' is none of nodes=, gpus=, cpus=, memory=");
        }
    }
    return spec;
}

Result<UpOptions> parse_up(std::span<const char* const> args) {
    Words words;
    TRY_STATUS(parse_flags(args,
                           {{.name = "--dir", .value = &words.dir},
                            {.name = "--detach", .given = &words.detach},
                            {.name = "--nodes", .value = &words.nodes},
                            {.name = "--gpus", .value = &words.gpus},
                            {.name = "--cpus", .value = &words.cpus},
                            {.name = "--memory", .value = &words.memory},
                            {.name = "--config", .value = &words.config},
                            {.name = "--emulate", .value = &words.emulate}}));
    if (words.dir.empty())
        return fail(ErrorCode::InvalidArgument,
                    "--dir is missing: the folder that holds the cluster");
    return understand(words);
}

Status save_options(const UpOptions& options) {
    std::string text;
    const auto add = [&text](std::string_view key, const std::string& value) {
        if (!value.empty() && value != "0") text += std::string(key) + " " + value + "\n";
    };
    add("nodes", std::to_string(options.nodes));
    add("gpus", options.gpus);
    add("cpus", std::to_string(options.cpus));
    add("memory", std::to_string(options.memory_bytes / kMiB));
    add("config", options.config);
    add("emulate", options.emulate.value_or(""));
    return os::write_file_atomic(options.dir + "/up.options", text, 0644);
}

Result<UpOptions> load_options(const std::string& dir) {
    TRY(const std::string text, os::read_file(dir + "/up.options"));
    Words words{.dir = dir};
    for (const std::string_view line : split(text, '\n')) {
        if (line.empty()) continue;
        const auto parts = split_once(line, ' ');
        std::string* word = parts ? words.named(parts->first) : nullptr;
        if (word == nullptr) {
            return fail(ErrorCode::Corrupt,
                        dir + "/up.options is damaged at '" + printable(line, 40) +
                            "': remove it and give the options again");
        }
        *word = parts->second;
    }
    return understand(words);
}

}  // namespace twinyard::up
