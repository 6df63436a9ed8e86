#include <array>
#include <charconv>

#include "os/process_id.h"

namespace twinyard::os {

namespace {

/// Of the fields after the command's name: `state` is number 3 of the manual page, so index 0 here.
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kSession = 3;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStartTime = 19;
constexpr std::size_t kRssPages = 21;
constexpr std::size_t kFields = 22;

constexpr std::uint64_t kPageBytes = 4096;

template <class Number>
bool parse(std::string_view text, Number& out) {
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return {};

    ProcessStat stat;
    if (!parse(text.substr(0, open), stat.id.pid)) return {};
    std::array<std::string_view, kFields> fields;
    std::string_view rest = text.substr(close + 1);
    for (std::string_view& field : fields) {
        if (rest.empty() || rest.front() != ' ') return {};
        rest.remove_prefix(1);
        field = rest.substr(0, rest.find(' '));
        rest.remove_prefix(field.size());
        if (field.empty()) return {};
    }
    std::uint64_t pages = 0;
    stat.state = fields[kState].front();
    const bool good =
        parse(fields[kParent], stat.parent) && parse(fields[kGroup], stat.group) &&
        parse(fields[kSession], stat.session) && parse(fields[kUserTicks], stat.user_ticks) &&
        parse(fields[kSystemTicks], stat.system_ticks) && parse(fields[kThreads], stat.threads) &&
        parse(fields[kStartTime], stat.id.start_time) && parse(fields[kRssPages], pages);
    if (!good) return {};
    stat.rss_bytes = pages * kPageBytes;
    return stat;
}

}  // namespace twinyard::os
