#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/output.h"

/// One constant table a command knows all options that current Slurm has. What is not built yet is
/// refused with a clear message, never ignored.
namespace twinyard::cli {

using Args = std::span<const std::string_view>;

enum class Argument : std::uint8_t { None, Required, Optional };

enum class OptionState : std::uint8_t {
    Built,
    NotBuilt,  ///< Refused when given.
    NoEffect,  ///< Accepted; `test` says why nothing follows from it.
    Help,
    Usage,
    Version,
};

/// What was written after an option. Absent only where the argument is optional or none.
struct OptionValue {
    std::string_view text;
    bool given = false;
    std::string_view name;  ///< The option's first long name, for messages.
};

/// Puts a value into the command's options struct, whose type the table's owner knows. The error's
/// text is printed after "sbatch: error: "; InvalidArgument ends with the table's `bad_option`, any
/// other with kFailed (see bad_number()).
using OptionSetter = Status (*)(void* options, OptionValue value);

struct OptionRow {
    std::string_view names;  ///< Long names without dashes, `|` between spellings; the first is
                             ///< printed. May be empty.
    char letter = 0;
    Argument argument = Argument::None;
    OptionState state = OptionState::NotBuilt;
    OptionSetter set = nullptr;  ///< Where Built.
    /// Built: the test that shows its effect: `FILE.test` of tests/cli, or `Suite.Name` of a
    /// gtest. NoEffect: why.
    std::string_view test;
    std::string_view variable;  ///< That sets it too: "SBATCH_PARTITION".
    std::string_view help;      ///< A few words for --help.
    std::string_view value;     ///< What --help calls the argument; empty: "value".
};

struct OptionTable {
    std::string_view command;
    std::string_view usage;  ///< After the command's name: "[OPTIONS...] script [args...]".
    std::span<const OptionRow> rows;
    /// sbatch, srun, salloc: what follows the first positional is not ours to read.
    bool stop_at_positional = false;
    ExitCode bad_option = kBadOption;
};

/// What the command line held beside options. With `exit` the command is over (help, version, or
/// an error that is printed already).
struct ParsedArgs {
    std::vector<std::string_view> positional;
    std::optional<ExitCode> exit;
};

/// Reads by the rules of getopt_long(3): unambiguous abbreviations, `--opt=value`, `--opt value`,
/// `-oVALUE`, bundles, `--`, options after positionals where the table allows. `options` is the
/// struct that the table's setters expect. Values over 1 MiB are refused.
[[nodiscard]] ParsedArgs read_options(const OptionTable& table,
                                      Args args,
                                      void* options,
                                      Output& output);

/// Sets what variables of the environment say, row by row. With an exit code the command is over:
/// an error is printed.
[[nodiscard]] std::optional<ExitCode> read_variables(const OptionTable& table,
                                                     const Environment& environment,
                                                     void* options,
                                                     Output& output);

/// The text of --help, and the one line of --usage.
[[nodiscard]] std::string help_text(const OptionTable& table);
[[nodiscard]] std::string usage_text(const OptionTable& table);

/// `slurm 26.05.0`
inline constexpr std::string_view kSlurmVersion = "slurm 26.05.0";

// ---- rows and setters that many tables share

inline constexpr OptionRow kHelpRow{
    .names = "help", .state = OptionState::Help, .help = "show this help message"};
inline constexpr OptionRow kUsageRow{
    .names = "usage", .state = OptionState::Usage, .help = "show a brief usage message"};
inline constexpr OptionRow kVersionRow{
    .names = "version", .letter = 'V', .state = OptionState::Version, .help = "show the version"};

/// What current Slurm knows and this version does not.
constexpr OptionRow not_built(std::string_view names,
                              char letter = 0,
                              Argument argument = Argument::Required,
                              std::string_view variable = {}) {
    return {.names = names, .letter = letter, .argument = argument, .variable = variable};
}
/// What is accepted though nothing follows from it.
constexpr OptionRow no_effect(std::string_view names,
                              char letter,
                              Argument argument,
                              std::string_view why) {
    return {.names = names,
            .letter = letter,
            .argument = argument,
            .state = OptionState::NoEffect,
            .test = why};
}

/// `Invalid NAME specification` (ends as a bad option), `Invalid numeric value "x" for --NAME.`
/// (does not).
[[nodiscard]] std::unexpected<Error> bad_value(OptionValue value);
[[nodiscard]] std::unexpected<Error> bad_number(OptionValue value);

template <class T>
struct MemberOf;
template <class Owner, class Type>
struct MemberOf<Type Owner::*> {
    using owner = Owner;
    using type = Type;
};
template <auto Member>
using OwnerOf = typename MemberOf<decltype(Member)>::owner;

/// keep_text<&Options::name>: a std::string or std::optional<std::string> member gets the text.
/// Where the member is one of a base of the struct: keep_text<&Base::name, Options>.
template <auto Member, class Options = OwnerOf<Member>>
Status keep_text(void* options, OptionValue value) {
    static_cast<Options*>(options)->*Member = std::string(value.text);
    return {};
}
/// keep_count<&Options::ntasks>: a number from 1.
template <auto Member, class Options = OwnerOf<Member>>
Status keep_count(void* options, OptionValue value) {
    const auto number = parse_number<std::uint32_t>(value.text, 1, 0x7fffffff);
    if (!number) return bad_number(value);
    static_cast<Options*>(options)->*Member = *number;
    return {};
}
/// keep_flag<&Options::hold>: true; keep_flag<&Options::requeue, false>: false.
template <auto Member, bool Value = true, class Options = OwnerOf<Member>>
Status keep_flag(void* options, OptionValue) {
    static_cast<Options*>(options)->*Member = Value;
    return {};
}
/// add_items<&Options::users>: the pieces of a comma list go to the end of a vector of strings.
template <auto Member>
Status add_items(void* options, OptionValue value) {
    for (const std::string_view item : split_list(value.text))
        (static_cast<OwnerOf<Member>*>(options)->*Member).emplace_back(item);
    return {};
}
/// call<&set_nodes>, of `Status set_nodes(Options&, OptionValue)`.
template <auto Function>
struct CallTraits;
template <class Options, Status (*Function)(Options&, OptionValue)>
struct CallTraits<Function> {
    static Status call(void* options, OptionValue value) {
        return Function(*static_cast<Options*>(options), value);
    }
};
template <auto Function>
inline constexpr OptionSetter call = &CallTraits<Function>::call;

}  // namespace twinyard::cli
