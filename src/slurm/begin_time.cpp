#include "slurm/begin_time.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace twinyard::slurm {

namespace {

/// How far `now+count` may reach: far beyond any cluster's life, and no sum overflows.
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 40;

struct Date {
    int year = 0, month = 0, day = 0;
};

struct Reader {
    std::string_view rest;

    bool take(char c) {
        if (rest.empty() || to_lower(rest.front()) != to_lower(c)) return false;
        rest.remove_prefix(1);
        return true;
    }
    bool take_word(std::string_view word) {
        if (!starts_with_nocase(rest, word)) return false;
        rest.remove_prefix(word.size());
        return true;
    }
    /// As many digits as there are, between min and max of them.
    std::optional<int> digits(std::size_t min, std::size_t max) {
        std::size_t count = 0;
        int value = 0;
        while (count < rest.size() && count < max && is_digit(rest[count]))
            value = value * 10 + (rest[count++] - '0');
        if (count < min) return std::nullopt;
        rest.remove_prefix(count);
        return value;
    }
    [[nodiscard]] std::size_t leading_digits() const {
        std::size_t count = 0;
        while (count < rest.size() && is_digit(rest[count]))
            ++count;
        return count;
    }
    void skip_blanks() {
        while (!rest.empty() && is_space(rest.front()))
            rest.remove_prefix(1);
    }
};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits = {{
    {"seconds", 1},
    {"minutes", 60},
    {"hours", 3600},
    {"days", 86'400},
    {"weeks", 604'800},
}};

/// "+1hour", "-7days", "+90"; zero for an empty rest.
std::optional<std::int64_t> read_offset(Reader& reader) {
    reader.skip_blanks();
    if (reader.rest.empty()) return 0;
    const bool minus = reader.rest.front() == '-';
    if (!reader.take('+') && !reader.take('-')) return std::nullopt;
    reader.skip_blanks();
    const std::size_t count = reader.leading_digits();
    const Result<std::int64_t> number =
        parse_number<std::int64_t>(reader.rest.substr(0, count), 0, kOffsetMax);
    if (!number) return std::nullopt;
    reader.rest.remove_prefix(count);
    reader.skip_blanks();
    std::int64_t unit = 1;
    if (!reader.rest.empty()) {
        const std::string word = to_lower(reader.rest);
        const auto found = std::ranges::find_if(
            kUnits, [&](const auto& row) { return row.first.starts_with(word); });
        if (found == kUnits.end()) return std::nullopt;
        unit = found->second;
        reader.rest = {};
    }
    if (*number > kOffsetMax / unit) return std::nullopt;
    return (minus ? -1 : 1) * *number * unit;
}

/// Seconds of the day: HH:MM[:SS] [AM|PM] or a word.
std::optional<std::int64_t> read_time_of_day(Reader& reader) {
    if (reader.take_word("midnight")) return 0;
    if (reader.take_word("noon")) return 12 * 3600;
    if (reader.take_word("fika")) return 15 * 3600;
    if (reader.take_word("teatime")) return 16 * 3600;
    const auto hour = reader.digits(1, 2);
    if (!hour || !reader.take(':')) return std::nullopt;
    const auto minute = reader.digits(2, 2);
    if (!minute) return std::nullopt;
    std::optional<int> second = 0;
    if (reader.take(':')) second = reader.digits(2, 2);
    if (!second) return std::nullopt;
    // ISO times may have fractions, which say nothing here.
    if (reader.take('.') && !reader.digits(1, 9)) return std::nullopt;
    reader.skip_blanks();
    int base = *hour;
    const bool am = reader.take_word("am");
    const bool pm = !am && reader.take_word("pm");
    if (am || pm) {
        if (base < 1 || base > 12) return std::nullopt;
        base = base % 12 + (pm ? 12 : 0);
    }
    if (base > 23 || *minute > 59 || *second > 59) return std::nullopt;
    return base * 3600 + *minute * 60 + *second;
}

bool exists(const Date& date) {
    constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (date.month < 1 || date.month > 12 || date.day < 1 || date.year < 1970) return false;
    const bool leap = (date.year % 4 == 0 && date.year % 100 != 0) || date.year % 400 == 0;
    const int days = kDays[static_cast<std::size_t>(date.month - 1)];
    return date.day <= days + (date.month == 2 && leap ? 1 : 0);
}

/// YYYY-MM-DD, MMDD[YY], MM/DD[/YY], MM.DD[.YY]; without a year the next such day.
std::optional<Date> read_date(Reader& reader, const std::tm& today) {
    const std::size_t count = reader.leading_digits();
    Date date;
    bool has_year = false;
    const auto set =
        [&](std::optional<int> year, std::optional<int> month, std::optional<int> day) {
            date = {year.value_or(-1), month.value_or(-1), day.value_or(-1)};
        };
    if (count == 4 && reader.rest.size() > 4 && reader.rest[4] == '-') {
        const auto year = reader.digits(4, 4);
        reader.take('-');
        const auto month = reader.digits(1, 2);
        if (!reader.take('-')) return std::nullopt;
        set(year, month, reader.digits(1, 2));
        has_year = true;
    } else if (count == 4 || count == 6) {
        const auto month = reader.digits(2, 2);
        const auto day = reader.digits(2, 2);
        has_year = count == 6;
        set(has_year ? reader.digits(2, 2) : 0, month, day);
    } else {
        const auto month = reader.digits(1, 2);
        const char mark = reader.take('/') ? '/' : '.';
        if (mark == '.' && !reader.take('.')) return std::nullopt;
        const auto day = reader.digits(1, 2);
        has_year = reader.take(mark);
        set(has_year ? reader.digits(2, 4) : 0, month, day);
    }
    if (has_year && date.year >= 0 && date.year < 100) date.year += 2000;
    if (!has_year) {
        date.year = today.tm_year + 1900;
        const bool over =
            std::pair(date.month, date.day) < std::pair(today.tm_mon + 1, today.tm_mday);
        if (over) ++date.year;
    }
    return exists(date) ? std::optional(date) : std::nullopt;
}

class TimeWord {
  public:
    TimeWord(std::string_view text, std::int64_t now, const Calendar& calendar, bool past_allowed)
        : reader_{trim(text)},
          now_(now),
          calendar_(calendar),
          today_(calendar.to_local(now)),
          past_allowed_(past_allowed) {}

    std::optional<std::int64_t> read() {
        if (reader_.rest.empty()) return std::nullopt;
        if (reader_.take_word("now")) return shifted(now_);
        if (reader_.take_word("today")) return day_word(0);
        if (reader_.take_word("tomorrow")) return day_word(1);
        if (begins_with_time()) return time_alone();
        return date_and_time();
    }

  private:
    [[nodiscard]] bool begins_with_time() const {
        const std::size_t count = reader_.leading_digits();
        if (count == 0) return true;
        return count <= 2 && reader_.rest.size() > count && reader_.rest[count] == ':';
    }

    [[nodiscard]] std::int64_t at(int day_offset, std::int64_t second) const {
        std::tm day = today_;
        day.tm_mday += day_offset;
        day.tm_hour = static_cast<int>(second / 3600);
        day.tm_min = static_cast<int>(second / 60 % 60);
        day.tm_sec = static_cast<int>(second % 60);
        return calendar_.to_unix(day);
    }

    std::optional<std::int64_t> shifted(std::int64_t base) {
        const std::optional<std::int64_t> offset = read_offset(reader_);
        if (!offset) return std::nullopt;
        return base + *offset;
    }

    std::optional<std::int64_t> day_word(int day_offset) { return shifted(at(day_offset, 0)); }

    std::optional<std::int64_t> time_alone() {
        const std::optional<std::int64_t> second = read_time_of_day(reader_);
        if (!second) return std::nullopt;
        std::int64_t base = at(0, *second);
        if (base < now_ && !past_allowed_) base = at(1, *second);
        return shifted(base);
    }

    std::optional<std::int64_t> date_and_time() {
        const std::optional<Date> date = read_date(reader_, today_);
        if (!date) return std::nullopt;
        std::int64_t second = 0;
        if (reader_.take('T') || reader_.take('-') || reader_.take(' ')) {
            const std::optional<std::int64_t> read = read_time_of_day(reader_);
            if (!read) return std::nullopt;
            second = *read;
        }
        if (!reader_.rest.empty()) return std::nullopt;
        std::tm day{};
        day.tm_year = date->year - 1900;
        day.tm_mon = date->month - 1;
        day.tm_mday = date->day;
        day.tm_hour = static_cast<int>(second / 3600);
        day.tm_min = static_cast<int>(second / 60 % 60);
        day.tm_sec = static_cast<int>(second % 60);
        return calendar_.to_unix(day);
    }

    Reader reader_;
    std::int64_t now_;
    const Calendar& calendar_;
    std::tm today_;
    bool past_allowed_;
};

}  // namespace

Result<std::int64_t> parse_time_word(std::string_view text,
                                     std::int64_t now_unix_s,
                                     const Calendar& calendar,
                                     bool past_allowed) {
    const std::optional<std::int64_t> time =
        text.size() > 256 ? std::nullopt
                          : TimeWord(text, now_unix_s, calendar, past_allowed).read();
    if (!time) {
        return fail(ErrorCode::InvalidArgument,
                    "Invalid time specification (pos=0): " + printable(text));
    }
    return *time;
}

}  // namespace twinyard::slurm
