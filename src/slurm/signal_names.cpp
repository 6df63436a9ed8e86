#include "slurm/signal_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace twinyard::slurm {

namespace {

struct Row {
    std::int32_t number;
    std::string_view name;
    std::string_view description;
};

// Linux's numbers on the machines that we run on; the names with which users write them. The first
// row of a number is how it is printed.
constexpr auto kSignals = std::to_array<Row>({
    {1, "HUP", "Hangup"},
    {2, "INT", "Interrupt"},
    {3, "QUIT", "Quit"},
    {4, "ILL", "Illegal instruction"},
    {5, "TRAP", "Trace/breakpoint trap"},
    {6, "ABRT", "Aborted"},
    {7, "BUS", "Bus error"},
    {8, "FPE", "Floating point exception"},
    {9, "KILL", "Killed"},
    {10, "USR1", "User defined signal 1"},
    {11, "SEGV", "Segmentation fault"},
    {12, "USR2", "User defined signal 2"},
    {13, "PIPE", "Broken pipe"},
    {14, "ALRM", "Alarm clock"},
    {15, "TERM", "Terminated"},
    {16, "STKFLT", "Stack fault"},
    {17, "CHLD", "Child exited"},
    {18, "CONT", "Continued"},
    {19, "STOP", "Stopped (signal)"},
    {20, "TSTP", "Stopped"},
    {21, "TTIN", "Stopped (tty input)"},
    {22, "TTOU", "Stopped (tty output)"},
    {23, "URG", "Urgent I/O condition"},
    {24, "XCPU", "CPU time limit exceeded"},
    {25, "XFSZ", "File size limit exceeded"},
    {26, "VTALRM", "Virtual timer expired"},
    {27, "PROF", "Profiling timer expired"},
    {28, "WINCH", "Window changed"},
    {29, "IO", "I/O possible"},
    {30, "PWR", "Power failure"},
    {31, "SYS", "Bad system call"},
});
constexpr std::int32_t kSignalMax = 64;

constexpr std::int64_t kWarnDefault = 60;
constexpr std::int64_t kWarnMax = 65535;

const Row* find_number(std::int32_t number) {
    const auto found = std::ranges::find(kSignals, number, &Row::number);
    return found == kSignals.end() ? nullptr : &*found;
}

std::unexpected<Error> bad_option() {
    return fail(ErrorCode::InvalidArgument, "Invalid --signal specification");
}

}  // namespace

std::optional<std::int32_t> signal_number(std::string_view text) {
    if (!text.empty() && is_digit(text[0])) {
        const Result<std::int32_t> number = parse_number<std::int32_t>(text, 1, kSignalMax);
        return number ? std::optional(*number) : std::nullopt;
    }
    if (starts_with_nocase(text, "SIG")) text.remove_prefix(3);
    for (const Row& row : kSignals) {
        if (equal_nocase(row.name, text)) return row.number;
    }
    return std::nullopt;
}

std::string signal_name(std::int32_t number) {
    const Row* row = find_number(number);
    return row == nullptr ? std::to_string(number) : std::string(row->name);
}

std::string signal_description(std::int32_t number) {
    const Row* row = find_number(number);
    if (row != nullptr) return std::string(row->description);
    // One word, as reasons are split at blanks; the first real-time signals belong to the C
    // library.
    constexpr std::int32_t kFirstRealTime = 34;
    constexpr std::int32_t kLastRealTime = 64;
    if (number >= kFirstRealTime && number <= kLastRealTime)
        return "Real-time_signal_" + std::to_string(number - kFirstRealTime);
    return "Unknown_signal_" + std::to_string(number);
}

Result<model::EndWarning> parse_signal_option(std::string_view text) {
    model::EndWarning warning;
    warning.before_end = Seconds{kWarnDefault};
    if (const auto flags = split_once(text, ':')) {
        for (const char flag : flags->first) {
            if (to_upper(flag) == 'R') {
                return fail(ErrorCode::Conflict,
                            "--signal=R: is not built yet in this version of Twinyard");
            }
            if (to_upper(flag) != 'B') return bad_option();
            warning.batch_shell_only = true;
        }
        text = flags->second;
    }
    if (const auto when = split_once(text, '@')) {
        const Result<std::int64_t> seconds = parse_number<std::int64_t>(when->second, 0, kWarnMax);
        if (!seconds) return bad_option();
        warning.before_end = Seconds{*seconds};
        text = when->first;
    }
    const std::optional<std::int32_t> number = signal_number(text);
    if (!number) return bad_option();
    warning.signal = *number;
    return warning;
}

}  // namespace twinyard::slurm
