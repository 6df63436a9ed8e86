#include "base/text.h"

#include <algorithm>
#include <array>

namespace twinyard {

namespace {

constexpr std::size_t kMatchLengthMax = 64;

/// Edit distance with swaps of neighbours counted as one, case ignored. Both words fit
/// kMatchLengthMax.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::array<std::array<std::size_t, kMatchLengthMax + 1>, 3> rows{};
    for (std::size_t j = 0; j <= b.size(); ++j)
        rows[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto& row = rows[i % 3];
        const auto& above = rows[(i - 1) % 3];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
            const bool swapped = i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                                 to_lower(a[i - 2]) == to_lower(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[a.size() % 3][b.size()];
}

template <class Part>
std::string join_parts(std::span<const Part> parts, std::string_view separator) {
    std::string text;
    for (const Part& part : parts) {
        if (&part != parts.data()) text += separator;
        text += part;
    }
    return text;
}

std::string escaped(char c) {
    switch (c) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            break;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) return {c};
    return {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

}  // namespace

std::string to_lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = to_lower(c);
    return out;
}

std::string to_upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = to_upper(c);
    return out;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_space(text.back()))
        text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_list(std::string_view text, char separator) {
    std::vector<std::string_view> parts = split(text, separator);
    for (std::string_view& part : parts)
        part = trim(part);
    std::erase_if(parts, [](std::string_view part) { return part.empty(); });
    return parts;
}

std::optional<std::pair<std::string_view, std::string_view>> split_once(std::string_view text,
                                                                        char separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return std::nullopt;
    return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
    return join_parts(parts, separator);
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
    return join_parts(parts, separator);
}

bool equal_nocase(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

bool starts_with_nocase(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() && equal_nocase(text.substr(0, prefix.size()), prefix);
}

std::string printable(std::string_view text, std::size_t max) {
    std::string out;
    for (const char c : text) {
        const std::string piece = escaped(c);
        if (out.size() + piece.size() > max) return out + "...";
        out += piece;
    }
    return out;
}

std::string_view closest_match(std::string_view word,
                               std::span<const std::string_view> candidates) {
    if (word.empty() || word.size() > kMatchLengthMax) return {};
    std::size_t best_distance = std::clamp<std::size_t>(word.size() / 3, 2, 3) + 1;
    // A short word is within two edits of everything; then only one that keeps a letter is a likely
    // slip.
    best_distance = std::min(best_distance, word.size());
    std::string_view best;
    for (const std::string_view candidate : candidates) {
        const std::size_t longer = std::max(candidate.size(), word.size());
        if (longer > kMatchLengthMax) continue;
        // The lengths alone are that far apart: most candidates end here.
        if (longer - std::min(candidate.size(), word.size()) >= best_distance) continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance >= best_distance) continue;
        best_distance = distance;
        best = candidate;
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
    const std::string_view match = closest_match(word, candidates);
    return match.empty() ? std::string() : " (did you mean " + std::string(match) + "?)";
}

Error not_a_number(std::string_view text) {
    return {ErrorCode::InvalidArgument, "'" + printable(text, 60) + "' is not a whole number"};
}

Error out_of_range(std::string_view text, std::string min, std::string max) {
    return {ErrorCode::InvalidArgument,
            printable(text, 60) + " is not between " + std::move(min) + " and " + std::move(max)};
}

}  // namespace twinyard
