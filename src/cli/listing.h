#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "cli/option_table.h"
#include "cli/output.h"
#include "slurm/format.h"

/// What squeue, sinfo, sacct and scontrol share.
namespace twinyard::cli {

/// -o, -O and the variables that stand for them.
struct FormatChoice {
    std::string text;
    bool by_name = false;  ///< -O: names and widths, not letters.
};

/// Times, names and units as this process prints them. A name is looked up once, when a cell needs
/// it.
[[nodiscard]] slurm::TextContext text_context(const Environment& environment);

/// The line before the header of long listings: "Tue Dec 01 11:03:41 2026".
[[nodiscard]] std::string date_line(const slurm::TextContext& context);

/// Is one of these fields (-O names) in the layout?
[[nodiscard]] bool has_field(const slurm::Layout& layout,
                             std::span<const slurm::FieldName> fields,
                             std::initializer_list<std::string_view> names);

/// A user by name or number.
[[nodiscard]] std::optional<std::uint32_t> find_user(const Environment& environment,
                                                     std::string_view text);

/// "slurm_load_jobs error: TEXT": errors that Slurm prints without the command's name.
void print_error(Output& output, std::string_view what, const Error& error);

// ---- setters

/// set_items<&Options::users>: the pieces of a comma list replace what was there (an option
/// replaces its variable).
template <auto Member>
Status set_items(void* options, OptionValue value) {
    (static_cast<OwnerOf<Member>*>(options)->*Member).clear();
    return add_items<Member>(options, value);
}
/// set_format<&Options::format, ByName>
template <auto Member, bool ByName>
Status set_format(void* options, OptionValue value) {
    static_cast<OwnerOf<Member>*>(options)->*Member = FormatChoice{std::string(value.text), ByName};
    return {};
}

}  // namespace twinyard::cli
