#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/calendar.h"

/// The column engine of squeue and sinfo; sacct has its own rules (sacct_format.h).
namespace twinyard::slurm {

/// What cells need that is not in a row.
struct TextContext {
    Calendar calendar = utc_calendar();
    std::string time_format = "standard";                  ///< SLURM_TIME_FORMAT.
    std::function<std::string(std::uint32_t)> user_name;   ///< Unset: the number.
    std::function<std::string(std::uint32_t)> group_name;  ///< Unset: the number.
    std::int64_t now_ms = 0;
    std::string cluster = "twinyard";
    bool convert_units = true;  ///< --noconvert: false.
};

/// The names of one field of a command. Its place in the table is its number.
struct FieldName {
    char letter;            ///< Of -o; 0: -O only.
    std::string_view name;  ///< Of -O, lower case; empty: -o only.
    std::string_view header;
};

/// One column of a layout.
struct Column {
    static constexpr std::uint16_t kLiteral = 0xffff;  ///< Prints its suffix only.
    std::uint16_t field = kLiteral;
    std::uint32_t width = 0;  ///< 0: as long as needed.
    bool right = false;
    bool grows = false;  ///< `#`, or `#.` to the right: as wide as its longest cell, `width` at
                         ///< least.
    std::string_view header;
    std::string suffix;  ///< Literal text after it, in header and rows.
};

struct Layout {
    std::string lead;  ///< Literal text before the first column.
    std::vector<Column> columns;
    std::vector<std::string> errors;  ///< Fields that do not exist, for stderr; they print as text.
};

/// `-o "%.18i %.9P"`. Unknown letters are reported in `errors` and printed as they stand.
[[nodiscard]] Layout parse_letter_format(std::span<const FieldName> fields,
                                         std::string_view format,
                                         std::string_view what);
/// `-O "jobid:.18 ,partition:|"`: 20 wide without a colon, as long as needed with a colon and no
/// width; what follows the width is a literal suffix. Field names in any case.
[[nodiscard]] Layout parse_name_format(std::span<const FieldName> fields,
                                       std::string_view format,
                                       std::string_view what);

/// One padded (or cut) cell with its suffix.
void append_cell(std::string& out, std::string_view text, const Column& column);
/// The header line, with the line break.
void append_header(std::string& out, const Layout& layout);

/// One key of a sort specification.
struct SortKey {
    std::uint16_t field = 0;
    bool descending = false;
    bool by_order = false;  ///< `#`: in the order of the configuration.
    friend bool operator==(const SortKey&, const SortKey&) = default;
};
/// `P,t,-p`. InvalidArgument names the key that does not exist.
[[nodiscard]] Result<std::vector<SortKey>> parse_sort(std::span<const FieldName> fields,
                                                      std::string_view text,
                                                      std::string_view what);

/// "64G", "1000M": the largest unit that loses nothing; with convert_units false always M.
[[nodiscard]] std::string memory_text(std::int64_t mega_bytes, bool convert_units);

}  // namespace twinyard::slurm
