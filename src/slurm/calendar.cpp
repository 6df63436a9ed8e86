#include "slurm/calendar.h"

#include <array>
#include <cmath>

namespace twinyard::slurm {

namespace {

std::tm local(std::int64_t unix_s) {
    const std::time_t time = unix_s;
    std::tm out{};
    localtime_r(&time, &out);
    return out;
}

std::int64_t from_local(std::tm time) {
    time.tm_isdst = -1;
    return std::mktime(&time);
}

std::tm utc(std::int64_t unix_s) {
    const std::time_t time = unix_s;
    std::tm out{};
    gmtime_r(&time, &out);
    return out;
}

std::int64_t from_utc(std::tm time) {
    return timegm(&time);
}

std::string print(const std::tm& time, const char* pattern) {
    std::array<char, 256> out{};
    const std::size_t length = std::strftime(out.data(), out.size(), pattern, &time);
    return {out.data(), length};
}

std::int64_t midnight_of(const Calendar& calendar, std::int64_t unix_s) {
    std::tm day = calendar.to_local(unix_s);
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    return calendar.to_unix(day);
}

/// Near days by their name, so that a queue of today and tomorrow reads well.
std::string relative(const Calendar& calendar, std::int64_t unix_s, std::int64_t now_s) {
    const std::tm time = calendar.to_local(unix_s);
    const double between =
        static_cast<double>(midnight_of(calendar, unix_s) - midnight_of(calendar, now_s));
    const auto days = std::lround(between / 86'400);
    if (days == -1) return "Ystday " + print(time, "%H:%M");
    if (days == 0) return print(time, "%H:%M:%S");
    if (days == 1) return "Tomorr " + print(time, "%H:%M");
    if (days < -1 || days > 6) return print(time, "%-d %b %H:%M");
    return print(time, "%a %H:%M");
}

}  // namespace

Calendar system_calendar() {
    return {local, from_local};
}

Calendar utc_calendar() {
    return {utc, from_utc};
}

std::string date_text(const Calendar& calendar, std::int64_t unix_ms, std::string_view none) {
    return date_text(calendar, unix_ms, none, "standard", 0);
}

std::string date_text(const Calendar& calendar,
                      std::int64_t unix_ms,
                      std::string_view none,
                      const std::string& pattern,
                      std::int64_t now_ms) {
    if (unix_ms <= 0) return std::string(none);
    const std::int64_t unix_s = unix_ms / 1000;
    if (pattern == "relative") return relative(calendar, unix_s, now_ms / 1000);
    const bool standard = pattern.empty() || pattern == "standard";
    return print(calendar.to_local(unix_s), standard ? "%Y-%m-%dT%H:%M:%S" : pattern.c_str());
}

}  // namespace twinyard::slurm
