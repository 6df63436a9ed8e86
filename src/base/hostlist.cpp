#include "base/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/text.h"

namespace twinyard {

namespace {

/// More digits than this are text: they could not be counted in 64 bits.
constexpr std::size_t kDigitsMax = 18;

struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::size_t width = 0;
};

/// Plain text followed by a bracket; the last piece of a name may have no ranges.
struct Piece {
    std::string_view text;
    std::vector<Range> ranges;
};

std::unexpected<Error> bad(std::string_view name, std::string_view why) {
    return fail(ErrorCode::InvalidArgument,
                "host list '" + printable(name, 80) + "': " + std::string(why));
}

std::string padded(std::uint64_t number, std::size_t width) {
    std::string digits = std::to_string(number);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    return digits;
}

Result<Range> parse_range(std::string_view name, std::string_view text) {
    const auto ends = split_once(text, '-');
    const std::string_view low = trim(ends ? ends->first : text);
    const std::string_view high = trim(ends ? ends->second : text);
    if (low.empty() || high.empty() || !std::ranges::all_of(low, is_digit) ||
        !std::ranges::all_of(high, is_digit)) {
        return bad(name, "'" + printable(text, 40) + "' is not a range of numbers");
    }
    if (low.size() > kDigitsMax || high.size() > kDigitsMax) {
        return bad(name, "'" + printable(text, 40) + "' has too many digits");
    }
    Range range;
    TRY(range.low, parse_number<std::uint64_t>(low));
    TRY(range.high, parse_number<std::uint64_t>(high));
    range.width = low.size();
    if (range.high < range.low)
        return bad(name, "range '" + std::string(text) + "' runs backwards");
    return range;
}

Result<std::vector<Range>> parse_ranges(std::string_view name, std::string_view text) {
    std::vector<Range> ranges;
    for (const std::string_view part : split(text, ',')) {
        TRY(const Range range, parse_range(name, part));
        ranges.push_back(range);
    }
    return ranges;
}

Status check_plain(std::string_view name, std::string_view text) {
    const auto unfit = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte == 0x7f;
    };
    if (std::ranges::any_of(text, unfit))
        return bad(name, "a name has a space or control character");
    if (text.find(']') != std::string_view::npos) return bad(name, "']' without '['");
    return {};
}

Result<std::vector<Piece>> parse_name(std::string_view name) {
    std::vector<Piece> pieces;
    std::string_view rest = name;
    while (!rest.empty()) {
        const std::size_t open = rest.find('[');
        Piece piece{rest.substr(0, open), {}};
        TRY_STATUS(check_plain(name, piece.text));
        if (open == std::string_view::npos) {
            rest = {};
        } else {
            const std::size_t close = rest.find_first_of("[]", open + 1);
            if (close == std::string_view::npos || rest[close] != ']')
                return bad(name, "'[' without ']'");
            TRY(piece.ranges, parse_ranges(name, rest.substr(open + 1, close - open - 1)));
            rest.remove_prefix(close + 1);
        }
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

/// Names that the pieces stand for, no more than `max` + 1.
std::size_t count_names(const std::vector<Piece>& pieces, std::size_t max) {
    std::size_t total = 1;
    for (const Piece& piece : pieces) {
        if (piece.ranges.empty()) continue;
        std::size_t count = 0;
        for (const Range& range : piece.ranges) {
            const std::uint64_t size = range.high - range.low + 1;
            if (size > max) return max + 1;
            count += size;
            if (count > max) return max + 1;
        }
        total *= count;
        if (total > max) return max + 1;
    }
    return total;
}

std::vector<std::string> names_of(const std::vector<Piece>& pieces) {
    std::vector<std::string> names(1);
    for (const Piece& piece : pieces) {
        for (std::string& name : names)
            name += piece.text;
        if (piece.ranges.empty()) continue;
        std::vector<std::string> longer;
        for (const std::string& name : names) {
            for (const Range& range : piece.ranges) {
                for (std::uint64_t n = range.low; n <= range.high; ++n) {
                    longer.push_back(name + padded(n, range.width));
                }
            }
        }
        names = std::move(longer);
    }
    return names;
}

/// A name cut into what stays and the number at its end.
struct Split {
    std::string_view prefix;
    std::string_view digits;
    std::uint64_t number = 0;
};

Split split_name(std::string_view name) {
    std::size_t at = name.size();
    while (at > 0 && is_digit(name[at - 1]))
        --at;
    if (at == name.size() || name.size() - at > kDigitsMax) return {name, {}, 0};
    Split out{name.substr(0, at), name.substr(at), 0};
    out.number = parse_number<std::uint64_t>(out.digits).value_or(0);
    return out;
}

/// A run of numbers after one prefix: first and last as written.
struct Run {
    Split first;
    Split last;
};

bool continues(const Run& run, const Split& next) {
    return next.number == run.last.number + 1 &&
           next.digits == padded(next.number, run.first.digits.size());
}

/// Writes the runs that share a prefix, with a bracket unless they are one name.
void write_group(std::string& out, const std::vector<Run>& runs) {
    if (runs.empty()) return;
    if (!out.empty()) out += ',';
    out += runs.front().first.prefix;
    const bool single = runs.size() == 1 && runs[0].first.digits == runs[0].last.digits;
    if (!single) out += '[';
    for (const Run& run : runs) {
        if (&run != runs.data()) out += ',';
        out += run.first.digits;
        if (run.first.digits == run.last.digits) continue;
        out += '-';
        out += run.last.digits;
    }
    if (!single) out += ']';
}

template <class Name>
std::string fold_names(std::span<const Name> names) {
    std::string out;
    std::vector<Run> runs;
    for (const Name& name : names) {
        const Split next = split_name(name);
        const bool joins = !runs.empty() && !next.digits.empty() &&
                           !runs.back().first.digits.empty() &&
                           runs.back().first.prefix == next.prefix;
        if (joins && continues(runs.back(), next)) {
            runs.back().last = next;
            continue;
        }
        if (!joins) {
            write_group(out, runs);
            runs.clear();
        }
        runs.push_back({next, next});
    }
    write_group(out, runs);
    return out;
}

auto sort_key(const Split& name) {
    return std::tuple(name.prefix, name.number, name.digits.size());
}

}  // namespace

std::vector<std::string_view> split_hostlist(std::string_view text) {
    std::vector<std::string_view> names;
    std::size_t start = 0;
    bool inside = false;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        if (c == '[') inside = true;
        if (c == ']') inside = false;
        if (c != ',' || (inside && i < text.size())) continue;
        const std::string_view name = trim(text.substr(start, i - start));
        if (!name.empty()) names.push_back(name);
        start = i + 1;
    }
    return names;
}

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t max) {
    std::vector<std::string> names;
    for (const std::string_view name : split_hostlist(text)) {
        TRY(const std::vector<Piece> pieces, parse_name(name));
        if (names.size() + count_names(pieces, max) > max) {
            return bad(text, "more than " + std::to_string(max) + " hosts");
        }
        std::vector<std::string> more = names_of(pieces);
        std::ranges::move(more, std::back_inserter(names));
    }
    return names;
}

std::string fold_hostlist(std::span<const std::string> names) {
    return fold_names(names);
}

std::string fold_hostlist(std::span<const std::string_view> names) {
    return fold_names(names);
}

std::string fold_hostlist_sorted(std::span<const std::string> names) {
    std::vector<std::string> sorted(names.begin(), names.end());
    sort_hostnames(sorted);
    sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
    return fold_hostlist(sorted);
}

void sort_hostnames(std::vector<std::string>& names) {
    std::ranges::stable_sort(names, [](const std::string& a, const std::string& b) {
        return sort_key(split_name(a)) < sort_key(split_name(b));
    });
}

}  // namespace twinyard
