// Reading of a command line against an option table, by the rules and with the words of
// getopt_long(3), since scripts rely on abbreviations, bundles and error texts.
#include "cli/option_table.h"

#include <algorithm>

namespace twinyard::cli {

namespace {

constexpr std::size_t kValueMax = std::size_t{1} << 20;

std::string quoted(std::string_view text) {
    return "'" + printable(text) + "'";
}

std::string_view first_name(const OptionRow& row) {
    return row.names.substr(0, row.names.find('|'));
}

/// How messages call the option: --long, else -l.
std::string display_name(const OptionRow& row) {
    if (row.names.empty()) return {'-', row.letter};
    return "--" + std::string(first_name(row));
}

class Reader {
  public:
    Reader(const OptionTable& table, Args args, void* options, Output& output)
        : table_(table), args_(args), options_(options), output_(output) {}

    ParsedArgs read() {
        while (next_ < args_.size() && !parsed_.exit) {
            const std::string_view arg = args_[next_];
            if (arg == "--") {
                ++next_;
                break;
            }
            if (arg.size() < 2 || arg.front() != '-') {
                if (table_.stop_at_positional) break;
                parsed_.positional.push_back(arg);
                ++next_;
                continue;
            }
            ++next_;
            if (arg.starts_with("--")) {
                long_option(arg);
            } else {
                bundle(arg.substr(1));
            }
        }
        for (; next_ < args_.size(); ++next_)
            parsed_.positional.push_back(args_[next_]);
        return std::move(parsed_);
    }

  private:
    void long_option(std::string_view arg) {
        const std::size_t equals = arg.find('=');
        const std::string_view name = arg.substr(2, equals == arg.npos ? arg.npos : equals - 2);
        const OptionRow* row = find_long(arg, name);
        if (row == nullptr) return;
        OptionValue value{.name = first_name(*row)};
        if (equals != arg.npos) {
            if (row->argument == Argument::None) {
                return misuse("option '--" + matched_ + "' doesn't allow an argument");
            }
            value.text = arg.substr(equals + 1);
            value.given = true;
        } else if (row->argument == Argument::Required) {
            if (next_ == args_.size()) {
                return misuse("option '--" + matched_ + "' requires an argument");
            }
            value.text = args_[next_++];
            value.given = true;
        }
        take(*row, value);
    }

    /// The row of an exact name, else of the only one that it begins.
    const OptionRow* find_long(std::string_view arg, std::string_view name) {
        const OptionRow* found = nullptr;
        bool ambiguous = false;
        std::string possibilities;
        for (const OptionRow& row : table_.rows) {
            for (const std::string_view spelling : split(row.names, '|')) {
                if (spelling.empty() || !spelling.starts_with(name)) continue;
                if (spelling == name) {
                    matched_ = spelling;
                    return &row;
                }
                ambiguous |= found != nullptr && found != &row;
                if (found == nullptr) matched_ = spelling;
                found = &row;
                possibilities += " '--" + std::string(spelling) + "'";
            }
        }
        if (found == nullptr) {
            misuse("unrecognized option " + quoted(arg));
        } else if (ambiguous) {
            misuse("option " + quoted(arg) + " is ambiguous; possibilities:" + possibilities);
            found = nullptr;
        }
        return found;
    }

    void bundle(std::string_view letters) {
        while (!letters.empty() && !parsed_.exit) {
            const char letter = letters.front();
            letters.remove_prefix(1);
            const auto row = std::ranges::find(table_.rows, letter, &OptionRow::letter);
            if (row == table_.rows.end() || letter == 0) {
                return misuse("invalid option -- " + quoted({&letter, 1}));
            }
            OptionValue value{.name = first_name(*row)};
            if (row->argument == Argument::Required && letters.empty()) {
                if (next_ == args_.size()) {
                    return misuse("option requires an argument -- " + quoted({&letter, 1}));
                }
                value.text = args_[next_++];
                value.given = true;
            } else if (row->argument != Argument::None) {
                value.text = letters;
                value.given = !letters.empty();
                letters = {};
            }
            take(*row, value);
        }
    }

    void take(const OptionRow& row, OptionValue value) {
        switch (row.state) {
            case OptionState::Built:
                return set(row, value);
            case OptionState::NoEffect:
                return;
            case OptionState::NotBuilt:
                output_.error(display_name(row) + " is not built yet in this version of Twinyard");
                parsed_.exit = kFailed;
                return;
            case OptionState::Help:
                output_.out(help_text(table_));
                break;
            case OptionState::Usage:
                output_.out(usage_text(table_));
                break;
            case OptionState::Version:
                output_.out(std::string(kSlurmVersion) + "\n");
                break;
        }
        parsed_.exit = kOk;
    }

    void set(const OptionRow& row, OptionValue value) {
        Status status = value.text.size() > kValueMax
                            ? fail(ErrorCode::InvalidArgument,
                                   display_name(row) + ": the value is longer than 1 MiB")
                            : row.set(options_, value);
        if (status) return;
        output_.error(status.error().message());
        const bool bad_option = status.error().code() == ErrorCode::InvalidArgument;
        parsed_.exit = bad_option ? table_.bad_option : kFailed;
    }

    /// What getopt itself says, without "error:".
    void misuse(const std::string& text) {
        output_.note(text);
        output_.err("Try \"" + std::string(table_.command) + " --help\" for more information\n");
        parsed_.exit = table_.bad_option;
    }

    const OptionTable& table_;
    Args args_;
    void* options_;
    Output& output_;
    std::size_t next_ = 0;
    std::string matched_;  ///< The spelling found last.
    ParsedArgs parsed_;
};

/// "  -N, --nodes=value"
std::string left_column(const OptionRow& row) {
    std::string text = row.letter == 0 ? "      " : std::string("  -") + row.letter;
    if (!row.names.empty()) {
        text += row.letter == 0 ? "" : ", ";
        text += "--" + std::string(first_name(row));
    }
    if (row.argument == Argument::None) return text;
    const std::string value(row.value.empty() ? "value" : row.value);
    const std::string equals = row.names.empty() ? " " : "=";
    return text +
           (row.argument == Argument::Optional ? "[" + equals + value + "]" : equals + value);
}

}  // namespace

ParsedArgs read_options(const OptionTable& table, Args args, void* options, Output& output) {
    return Reader(table, args, options, output).read();
}

std::optional<ExitCode> read_variables(const OptionTable& table,
                                       const Environment& environment,
                                       void* options,
                                       Output& output) {
    for (const OptionRow& row : table.rows) {
        if (row.variable.empty()) continue;
        const auto text = environment.get(row.variable);
        if (!text) continue;
        if (row.state == OptionState::NotBuilt) {
            output.error(std::string(row.variable) + " (" + display_name(row) +
                         ") is not built yet in this version of Twinyard");
            return kFailed;
        }
        if (row.state != OptionState::Built) continue;
        const OptionValue value{.text = *text, .given = !text->empty(), .name = first_name(row)};
        const Status status = row.set(options, value);
        if (status) continue;
        output.error(status.error().message());
        return status.error().code() == ErrorCode::InvalidArgument ? table.bad_option : kFailed;
    }
    return std::nullopt;
}

std::unexpected<Error> bad_value(OptionValue value) {
    return fail(ErrorCode::InvalidArgument,
                "Invalid --" + std::string(value.name) + " specification");
}

std::unexpected<Error> bad_number(OptionValue value) {
    return fail(ErrorCode::Conflict,
                "Invalid numeric value \"" + printable(value.text, 60) + "\" for --" +
                    std::string(value.name) + ".");
}

std::string usage_text(const OptionTable& table) {
    return "Usage: " + std::string(table.command) + " " + std::string(table.usage) + "\n";
}

std::string help_text(const OptionTable& table) {
    std::string text = usage_text(table) + "\nOptions:\n";
    std::string later;
    for (const OptionRow& row : table.rows) {
        if (row.state == OptionState::NotBuilt) {
            later += (later.empty() ? "" : " ") + display_name(row);
            continue;
        }
        const std::string left = left_column(row);
        const std::string_view right =
            row.state == OptionState::NoEffect ? std::string_view("accepted, no effect") : row.help;
        text += left + std::string(left.size() < 34 ? 34 - left.size() : 2, ' ');
        text += std::string(right) + "\n";
    }
    if (!later.empty()) text += "\nNot built yet in this version of Twinyard:\n  " + later + "\n";
    return text;
}

}  // namespace twinyard::cli
