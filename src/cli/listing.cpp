#include "cli/listing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

namespace twinyard::cli {

namespace {

using NameOf = std::function<std::string(std::uint32_t)>;

/// Asks for a name once: listings print the same few users many times.
NameOf cached(const NameOf& names) {
    if (!names) return {};
    auto known = std::make_shared<std::map<std::uint32_t, std::string>>();
    return [names, known](std::uint32_t id) {
        const auto [at, is_new] = known->try_emplace(id);
        if (is_new) at->second = names(id);
        return at->second;
    };
}

}  // namespace

slurm::TextContext text_context(const Environment& environment) {
    slurm::TextContext context;
    context.calendar = environment.calendar;
    context.now_ms = environment.now_ms();
    context.user_name = cached(environment.user_name);
    context.group_name = cached(environment.group_name);
    if (const auto format = environment.get("SLURM_TIME_FORMAT"); format && !format->empty())
        context.time_format = std::string(*format);
    return context;
}

std::string date_line(const slurm::TextContext& context) {
    return slurm::date_text(
               context.calendar, context.now_ms, "", "%a %b %d %H:%M:%S %Y", context.now_ms) +
           "\n";
}

bool has_field(const slurm::Layout& layout,
               std::span<const slurm::FieldName> fields,
               std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(layout.columns, [&](const slurm::Column& column) {
        return column.field < fields.size() &&
               std::ranges::find(names, fields[column.field].name) != names.end();
    });
}

std::optional<std::uint32_t> find_user(const Environment& environment, std::string_view text) {
    if (const auto number = parse_number<std::uint32_t>(text)) return *number;
    return environment.user_id ? environment.user_id(text) : std::nullopt;
}

void print_error(Output& output, std::string_view what, const Error& error) {
    output.err(std::string(what) + ": " + error.message() + "\n");
}

}  // namespace twinyard::cli
