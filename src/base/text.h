#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/result.h"

namespace twinyard {

/// ASCII only, whatever the locale: configuration and protocol words are not natural language.
[[nodiscard]] constexpr bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr char to_upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);

/// Without white space at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

/// All pieces, empty ones too; an empty text has one empty piece. The pieces point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Trimmed pieces without the empty ones: what a comma list in a configuration means.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text, char separator = ',');

/// Splits at the first separator; none when there is no separator.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_once(
    std::string_view text, char separator);

[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
[[nodiscard]] std::string join(std::span<const std::string_view> parts, std::string_view separator);

[[nodiscard]] bool equal_nocase(std::string_view a, std::string_view b);
[[nodiscard]] bool starts_with_nocase(std::string_view text, std::string_view prefix);

/// The text with control characters and bytes outside ASCII escaped (\n, \t, \x1b), cut to `max`
/// output characters with "..." at the end. Every text of others that goes into a message goes
/// through this.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max = 200);

/// The candidate nearest to `word` (case ignored) within a third of its length, two edits at least
/// and three at most; empty when none is near. Ties go to the earlier candidate. Words over 64
/// characters match nothing.
[[nodiscard]] std::string_view closest_match(std::string_view word,
                                             std::span<const std::string_view> candidates);

/// " (did you mean X?)", or nothing when no candidate is near: to be put at the end of a message.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// The error of parse_number(), out of line to keep the template small.
[[nodiscard]] Error not_a_number(std::string_view text);
[[nodiscard]] Error out_of_range(std::string_view text, std::string min, std::string max);

/// A whole decimal number in [min, max], nothing around it. InvalidArgument says which of the two
/// is wrong.
template <std::integral T>
[[nodiscard]] Result<T> parse_number(std::string_view text,
                                     T min = std::numeric_limits<T>::min(),
                                     T max = std::numeric_limits<T>::max()) {
    T value{};
    const char* end = text.data() + text.size();
    const bool plus = text.starts_with('+') && text.size() > 1 && is_digit(text[1]);
    const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
    const bool out = error == std::errc::result_out_of_range;
    if (stop != end || (error != std::errc{} && !out)) return fail(not_a_number(text));
    if (out || value < min || value > max) {
        return fail(out_of_range(text, std::to_string(min), std::to_string(max)));
    }
    return value;
}

}  // namespace twinyard
