#include "base/duration_text.h"

#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/text.h"

namespace twinyard {

namespace {

std::unexpected<Error> bad_time(std::string_view text) {
    return fail(ErrorCode::InvalidArgument, "'" + printable(text, 60) + "' is not a time limit");
}

/// Up to ten digits, so that sums below cannot overflow.
std::optional<std::int64_t> field(std::string_view text) {
    if (text.size() > 10 || text.empty() || !is_digit(text[0])) return std::nullopt;
    const Result<std::int64_t> value = parse_number<std::int64_t>(text, 0);
    return value ? std::optional(*value) : std::nullopt;
}

/// The fields in seconds; the first of them counts `units[0]`, and so on.
std::optional<std::int64_t> sum_fields(std::string_view text,
                                       const std::int64_t* units,
                                       std::size_t max) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() > max) return std::nullopt;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::optional<std::int64_t> value = field(parts[i]);
        if (!value) return std::nullopt;
        sum += *value * units[i];
    }
    return sum;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
    static constexpr std::array<std::int64_t, 3> kHours = {3600, 60, 1};
    static constexpr std::array<std::int64_t, 2> kMinutes = {60, 1};
    const auto days = split_once(text, '-');
    if (days) {
        const std::optional<std::int64_t> whole = field(days->first);
        const std::optional<std::int64_t> rest = sum_fields(days->second, kHours.data(), 3);
        if (!whole || !rest) return std::nullopt;
        return *whole * 86400 + *rest;
    }
    const bool has_hours = split(text, ':').size() == 3;
    return has_hours ? sum_fields(text, kHours.data(), 3) : sum_fields(text, kMinutes.data(), 2);
}

std::string print_time(Seconds limit, const char* with_hours, bool always_hours) {
    if (limit == kUnlimited) return "UNLIMITED";
    const long long total = limit.count() < 0 ? 0 : limit.count();
    const long long days = total / 86400;
    const long long hours = total / 3600 % 24;
    const long long minutes = total / 60 % 60;
    const long long seconds = total % 60;
    std::array<char, 64> out{};
    if (days > 0) {
        std::snprintf(
            out.data(), out.size(), "%lld-%02lld:%02lld:%02lld", days, hours, minutes, seconds);
    } else if (hours > 0 || always_hours) {
        std::snprintf(out.data(), out.size(), with_hours, hours, minutes, seconds);
    } else {
        std::snprintf(out.data(), out.size(), "%lld:%02lld", minutes, seconds);
    }
    return out.data();
}

/// Bytes of a unit letter; none for an unknown one.
std::optional<std::int64_t> unit_bytes(std::string_view unit) {
    if (unit.size() == 2 && to_upper(unit[1]) == 'B') unit.remove_suffix(1);
    if (unit.size() != 1) return std::nullopt;
    constexpr std::string_view kLetters = "KMGTP";
    const std::size_t at = kLetters.find(to_upper(unit[0]));
    if (at == std::string_view::npos) return std::nullopt;
    return std::int64_t{1} << (10 * (at + 1));
}

}  // namespace

Result<Seconds> parse_time_limit(std::string_view text) {
    text = trim(text);
    if (text == "-1" || equal_nocase(text, "UNLIMITED") || equal_nocase(text, "INFINITE")) {
        return kUnlimited;
    }
    const std::optional<std::int64_t> seconds = seconds_of(text);
    if (!seconds) return bad_time(text);
    if (*seconds > kTimeLimitMax.count()) {
        return fail(ErrorCode::InvalidArgument,
                    "time limit " + printable(text, 60) + " is too long");
    }
    return Seconds{*seconds};
}

Seconds round_up_to_minutes(Seconds limit) {
    if (limit == kUnlimited) return limit;
    return Seconds{(limit.count() + 59) / 60 * 60};
}

std::string format_time_limit(Seconds limit) {
    return print_time(limit, "%lld:%02lld:%02lld", false);
}

std::string format_time_limit_padded(Seconds limit) {
    return print_time(limit, "%02lld:%02lld:%02lld", true);
}

Result<std::int64_t> parse_size(std::string_view text, std::int64_t bare_unit) {
    const std::string_view all = trim(text);
    const auto bad = [&] {
        return fail(ErrorCode::InvalidArgument, "'" + printable(all, 60) + "' is not a size");
    };
    std::size_t digits = 0;
    while (digits < all.size() && is_digit(all[digits]))
        ++digits;
    if (digits == 0) return bad();
    std::size_t end = digits;
    double fraction = 0;
    if (end < all.size() && all[end] == '.') {
        double weight = 0.1;
        for (++end; end < all.size() && is_digit(all[end]); ++end, weight /= 10) {
            fraction += weight * (all[end] - '0');
        }
        if (end == digits + 1) return bad();
    }
    const std::string_view suffix = trim(all.substr(end));
    const std::optional<std::int64_t> unit =
        suffix.empty() ? std::optional(bare_unit) : unit_bytes(suffix);
    if (!unit) return bad();
    const Result<std::int64_t> whole =
        parse_number<std::int64_t>(all.substr(0, digits), 0, (std::int64_t{1} << 62) / *unit - 1);
    if (!whole) {
        return fail(ErrorCode::InvalidArgument, "size " + printable(all, 60) + " is too large");
    }
    return *whole * *unit + static_cast<std::int64_t>(fraction * static_cast<double>(*unit));
}

std::string format_size(std::int64_t bytes) {
    if (bytes <= 0) return "0";
    constexpr std::string_view kLetters = "MGTPE";
    auto number = static_cast<double>((bytes + kMiB - 1) / kMiB);
    std::size_t letter = 0;
    // The next unit is taken only when it loses nothing that two decimals would not show: half a
    // unit.
    while (number >= 1024 && number == static_cast<double>(static_cast<std::int64_t>(number)) &&
           static_cast<std::int64_t>(number) % 512 == 0 && letter + 1 < kLetters.size()) {
        number /= 1024;
        ++letter;
    }
    std::array<char, 64> out{};
    const bool whole = number == static_cast<double>(static_cast<std::int64_t>(number));
    std::snprintf(out.data(), out.size(), whole ? "%.0f%c" : "%.2f%c", number, kLetters[letter]);
    return out.data();
}

}  // namespace twinyard
