#include "cli/job_options.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/duration_text.h"
#include "base/text.h"
#include "slurm/begin_time.h"
#include "slurm/signal_names.h"

namespace twinyard::cli {

namespace {

struct LimitName {
    std::string_view name;
    int resource;
};
constexpr auto kLimitNames = std::to_array<LimitName>({{"AS", RLIMIT_AS},
                                                       {"CORE", RLIMIT_CORE},
                                                       {"CPU", RLIMIT_CPU},
                                                       {"DATA", RLIMIT_DATA},
                                                       {"FSIZE", RLIMIT_FSIZE},
                                                       {"MEMLOCK", RLIMIT_MEMLOCK},
                                                       {"NOFILE", RLIMIT_NOFILE},
                                                       {"NPROC", RLIMIT_NPROC},
                                                       {"RSS", RLIMIT_RSS},
                                                       {"STACK", RLIMIT_STACK}});

Error bad_propagate(std::string_view name) {
    return {ErrorCode::InvalidArgument, "Bad rlimit name: " + printable(name, 60)};
}

/// A count of nodes, with Slurm's k and m.
Result<std::uint32_t> parse_node_count(std::string_view text, std::string_view whole) {
    std::uint32_t unit = 1;
    if (!text.empty() && (to_lower(text.back()) == 'k' || to_lower(text.back()) == 'm')) {
        unit = to_lower(text.back()) == 'k' ? 1024U : 1024U * 1024U;
        text.remove_suffix(1);
    }
    const auto number = parse_number<std::uint32_t>(text, 0, 0x7fffffffU / unit);
    if (!number) {
        return fail(ErrorCode::InvalidArgument,
                    "\"" + printable(whole, 60) + "\" is not a valid node count");
    }
    return *number * unit;
}

Result<std::int64_t> memory_of(JobOptions& options, OptionValue value, JobOptions::Memory kind) {
    const auto megabytes = parse_megabytes(value.text);
    if (!megabytes) return bad_value(value);
    options.memory_given |= kind;
    options.job.mem_per_node_mb.reset();
    options.job.mem_per_cpu_mb.reset();
    options.job.mem_per_gpu_mb.reset();
    return *megabytes;
}

}  // namespace

Status JobOptions::check_source() const {
    if (std::popcount(memory_given) <= 1) return {};
    return fail(ErrorCode::InvalidArgument,
                "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
}

Result<std::vector<model::ProcessLimit>> propagated_limits(
    const std::vector<model::ProcessLimit>& limits, std::string_view propagate) {
    if (propagate.empty() || equal_nocase(propagate, "ALL")) return limits;
    std::vector<model::ProcessLimit> kept;
    if (equal_nocase(propagate, "NONE")) return kept;
    for (std::string_view word : split_list(propagate)) {
        if (starts_with_nocase(word, "RLIMIT_")) word.remove_prefix(7);
        const auto name = std::ranges::find_if(
            kLimitNames, [word](const LimitName& each) { return equal_nocase(each.name, word); });
        if (name == kLimitNames.end()) return fail(bad_propagate(word));
        for (const model::ProcessLimit& limit : limits) {
            if (limit.resource == name->resource) kept.push_back(limit);
        }
    }
    return kept;
}

Result<NodeRange> parse_node_range(std::string_view text) {
    NodeRange range;
    const auto ends = split_once(text, '-');
    TRY(range.min, parse_node_count(ends ? ends->first : text, text));
    range.max = range.min;
    if (ends) {
        TRY(range.max, parse_node_count(ends->second, text));
    }
    if (range.max == 0 || range.max < range.min) {
        return fail(ErrorCode::InvalidArgument, "invalid node count `" + printable(text, 60) + "'");
    }
    return range;
}

Result<std::int64_t> parse_megabytes(std::string_view text) {
    TRY(const std::int64_t bytes, parse_size(text));
    return (bytes + kMiB - 1) / kMiB;
}

Status set_nodes(JobOptions& options, OptionValue value) {
    TRY(const NodeRange range, parse_node_range(value.text));
    options.job.nodes_min = range.min;
    options.job.nodes_max = range.max;
    return {};
}

Status set_time(JobOptions& options, OptionValue value) {
    const auto limit = parse_time_limit(value.text);
    if (!limit) return bad_value(value);
    // Zero asks for no limit, as in Slurm.
    const bool endless = *limit == kUnlimited || limit->count() == 0;
    options.job.time_limit_s = endless ? -1 : limit->count();
    return {};
}

Status set_memory(JobOptions& options, OptionValue value) {
    TRY(const std::int64_t megabytes, memory_of(options, value, JobOptions::PerNode));
    options.job.mem_per_node_mb = megabytes;
    return {};
}

Status set_memory_per_cpu(JobOptions& options, OptionValue value) {
    TRY(const std::int64_t megabytes, memory_of(options, value, JobOptions::PerCpu));
    options.job.mem_per_cpu_mb = megabytes;
    return {};
}

Status set_memory_per_gpu(JobOptions& options, OptionValue value) {
    TRY(const std::int64_t megabytes, memory_of(options, value, JobOptions::PerGpu));
    options.job.mem_per_gpu_mb = megabytes;
    return {};
}

Status set_begin(JobOptions& options, OptionValue value) {
    const Environment& environment = options.environment;
    const auto time =
        slurm::parse_time_word(value.text, environment.now_ms() / 1000, environment.calendar);
    if (!time) {
        options.output.err(time.error().message() + "\n");
        return bad_value(value);
    }
    options.job.begin_unix_s = *time;
    return {};
}

Status set_nice(JobOptions& options, OptionValue value) {
    constexpr std::int32_t kDefault = 100;
    constexpr std::int32_t kMost = 2'147'483'645;
    if (!value.given) {
        options.job.nice = kDefault;
        return {};
    }
    const auto nice = parse_number<std::int32_t>(value.text, -kMost, kMost);
    if (!nice) return bad_value(value);
    options.job.nice = *nice;
    return {};
}

Status set_priority(JobOptions& options, OptionValue value) {
    const auto priority = parse_number<std::uint32_t>(value.text, 0, 0xfffffffdU);
    if (!priority) return bad_value(value);
    options.job.priority = *priority;
    return {};
}

Status set_exclusive(JobOptions& options, OptionValue value) {
    if (!value.given) {
        options.job.exclusive = "";
    } else if (equal_nocase(value.text, "user")) {
        options.job.exclusive = "user";
    } else if (equal_nocase(value.text, "mcs") || equal_nocase(value.text, "topo")) {
        return fail(ErrorCode::Conflict,
                    "--exclusive=" + to_lower(value.text) +
                        " is not built yet in this version of Twinyard");
    } else {
        return bad_value(value);
    }
    return {};
}

Status set_open_mode(JobOptions& options, OptionValue value) {
    const bool append = value.text == "a" || equal_nocase(value.text, "append");
    const bool truncate = value.text == "t" || equal_nocase(value.text, "truncate");
    if (!append && !truncate) return bad_value(value);
    options.job.append_output = append;
    return {};
}

Status set_signal(JobOptions& options, OptionValue value) {
    TRY(options.job.signal, slurm::parse_signal_option(value.text));
    return {};
}

Status set_requeue(JobOptions& options, OptionValue value) {
    if (value.given && !value.text.empty()) {
        return fail(ErrorCode::Conflict,
                    "--requeue=" + printable(value.text, 60) +
                        " is not built yet in this version of Twinyard");
    }
    options.job.requeue = true;
    return {};
}

Status set_export(JobOptions& options, OptionValue value) {
    options.job.export_env = std::string(value.text);
    return {};
}

Status set_switches(JobOptions& options, OptionValue value) {
    const auto parts = split_once(value.text, '@');
    const auto count = parse_number<std::uint32_t>(parts ? parts->first : value.text, 0, 65536);
    if (!count) return bad_value(value);
    options.job.switches = *count;
    options.job.switches_wait_s.reset();
    if (!parts) return {};
    const auto wait = parse_time_limit(parts->second);
    if (!wait) return bad_value(value);
    if (*wait != kUnlimited) options.job.switches_wait_s = wait->count();
    return {};
}

Status set_propagate(JobOptions& options, OptionValue value) {
    TRY_STATUS(propagated_limits({}, value.text));
    options.propagate = value.given ? std::string(value.text) : "ALL";
    return {};
}

}  // namespace twinyard::cli
