#include "slurm/format.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace twinyard::slurm {

namespace {

constexpr std::uint32_t kWidthMax = 10'000;
constexpr std::uint32_t kNameWidth = 20;
constexpr std::uint32_t kGrowWidth = 9;

/// [[.]size] at the front of `text`.
void take_width(std::string_view& text, Column& column) {
    if (text.starts_with('.')) {
        column.right = true;
        text.remove_prefix(1);
    }
    std::size_t end = 0;
    std::uint32_t width = 0;
    for (; end < text.size() && is_digit(text[end]); ++end) {
        width = std::min(width * 10 + static_cast<std::uint32_t>(text[end] - '0'), kWidthMax);
    }
    if (end > 0) column.width = width;
    text.remove_prefix(end);
}

std::string bad_field(std::string_view what, std::string_view field) {
    return "Invalid " + std::string(what) + " format specification: " + printable(field, 60);
}

void set_field(Column& column, std::span<const FieldName> fields, std::size_t at) {
    column.field = static_cast<std::uint16_t>(at);
    column.header = fields[at].header;
}

/// One `%…` of a letter format, from behind the percent sign up to the next one.
void add_letter(Layout& layout,
                std::span<const FieldName> fields,
                std::string_view text,
                std::string_view what) {
    Column column;
    const std::string_view whole = text;
    if (text.starts_with('#')) {
        column.grows = true;
        column.width = kGrowWidth;
        text.remove_prefix(1);
        column.right = text.starts_with('.');
        if (column.right) text.remove_prefix(1);
    } else {
        take_width(text, column);
    }
    const char letter = text.empty() ? '\0' : text.front();
    const auto found = std::ranges::find(fields, letter, &FieldName::letter);
    if (letter == '\0' || found == fields.end()) {
        layout.errors.push_back(bad_field(what, text.substr(0, 1)));
        Column literal;
        literal.suffix = "%" + std::string(whole);
        layout.columns.push_back(std::move(literal));
        return;
    }
    set_field(column, fields, static_cast<std::size_t>(found - fields.begin()));
    column.suffix = text.substr(1);
    layout.columns.push_back(std::move(column));
}

/// %all: every field with a letter, with bars between.
void add_all(Layout& layout, std::span<const FieldName> fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].letter == '\0') continue;
        Column column;
        set_field(column, fields, i);
        column.suffix = "|";
        layout.columns.push_back(std::move(column));
    }
    if (!layout.columns.empty()) layout.columns.back().suffix.clear();
}

/// One `name[:[.][size][suffix]]`.
void add_name(Layout& layout,
              std::span<const FieldName> fields,
              std::string_view text,
              std::string_view what) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    Column column;
    column.width = kNameWidth;
    if (colon != std::string_view::npos) {
        // Programs that give a separator alone want the whole value before it.
        std::string_view rest = text.substr(colon + 1);
        column.width = 0;
        take_width(rest, column);
        column.suffix = rest;
    }
    const auto found = std::ranges::find_if(fields, [&](const FieldName& field) {
        return !field.name.empty() && equal_nocase(field.name, trim(name));
    });
    if (found == fields.end()) {
        layout.errors.push_back(bad_field(what, name));
        return;
    }
    set_field(column, fields, static_cast<std::size_t>(found - fields.begin()));
    layout.columns.push_back(std::move(column));
}

}  // namespace

Layout parse_letter_format(std::span<const FieldName> fields,
                           std::string_view format,
                           std::string_view what) {
    Layout layout;
    if (equal_nocase(format, "%all")) {
        add_all(layout, fields);
        return layout;
    }
    const std::size_t first = std::min(format.find('%'), format.size());
    layout.lead = format.substr(0, first);
    format.remove_prefix(first);
    while (!format.empty()) {
        format.remove_prefix(1);
        const std::size_t next = std::min(format.find('%'), format.size());
        add_letter(layout, fields, format.substr(0, next), what);
        format.remove_prefix(next);
    }
    return layout;
}

Layout parse_name_format(std::span<const FieldName> fields,
                         std::string_view format,
                         std::string_view what) {
    Layout layout;
    for (const std::string_view part : split(format, ',')) {
        if (!trim(part).empty()) add_name(layout, fields, part, what);
    }
    return layout;
}

void append_cell(std::string& out, std::string_view text, const Column& column) {
    if (column.width == 0) {
        out += text;
    } else {
        const std::string_view shown = text.substr(0, column.width);
        const std::size_t padding = column.width - shown.size();
        if (column.right) out.append(padding, ' ');
        out += shown;
        if (!column.right) out.append(padding, ' ');
    }
    out += column.suffix;
}

void append_header(std::string& out, const Layout& layout) {
    out += layout.lead;
    for (const Column& column : layout.columns)
        append_cell(out, column.header, column);
    out += '\n';
}

Result<std::vector<SortKey>> parse_sort(std::span<const FieldName> fields,
                                        std::string_view text,
                                        std::string_view what) {
    std::vector<SortKey> keys;
    for (std::string_view part : split_list(text)) {
        SortKey key;
        for (; part.size() > 1 && std::string_view("+-#").find(part.front()) != part.npos;
             part.remove_prefix(1)) {
            key.descending |= part.front() == '-';
            key.by_order |= part.front() == '#';
        }
        const auto found = std::ranges::find_if(fields, [&](const FieldName& field) {
            return (part.size() == 1 && field.letter == part.front()) ||
                   (!field.name.empty() && equal_nocase(field.name, part));
        });
        if (found == fields.end()) {
            return fail(
                ErrorCode::InvalidArgument,
                "Invalid " + std::string(what) + " sort specification: " + printable(part, 60));
        }
        key.field = static_cast<std::uint16_t>(found - fields.begin());
        keys.push_back(key);
    }
    return keys;
}

std::string memory_text(std::int64_t mega_bytes, bool convert_units) {
    constexpr std::string_view kLetters = "MGTPE";
    std::size_t letter = 0;
    while (convert_units && mega_bytes != 0 && mega_bytes % 1024 == 0 &&
           letter + 1 < kLetters.size()) {
        mega_bytes /= 1024;
        ++letter;
    }
    return std::to_string(mega_bytes) + kLetters[letter];
}

}  // namespace twinyard::slurm
