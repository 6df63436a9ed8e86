#include "cli/option_table.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/job_testing.h"

namespace twinyard::cli {
namespace {

using enum Argument;

struct Options {
    std::string name;
    std::optional<std::uint32_t> tasks;
    std::vector<std::string> users;
    bool all = false, header = true;
    std::string level = "absent";
};

Status set_level(Options& options, OptionValue value) {
    options.level = value.given ? std::string(value.text) : "default";
    return {};
}
Status set_strict(Options&, OptionValue value) {
    return bad_value(value);
}

constexpr OptionRow built(std::string_view names,
                          char letter,
                          Argument argument,
                          OptionSetter set) {
    return {.names = names,
            .letter = letter,
            .argument = argument,
            .state = OptionState::Built,
            .set = set};
}

constexpr OptionRow kRows[] = {
    built("all", 'a', None, keep_flag<&Options::all>),
    not_built("array", 'A'),
    kHelpRow,
    built("level", 'l', Optional, call<&set_level>),
    built("name|title", 'n', Required, keep_text<&Options::name>),
    built("noheader", 'h', None, keep_flag<&Options::header, false>),
    built("strict", 0, Required, call<&set_strict>),
    built("tasks|tasks_of", 't', Required, keep_count<&Options::tasks>),
    no_effect("useless", 0, None, "nothing to do"),
    built("user", 'u', Required, add_items<&Options::users>),
    kVersionRow,
};
constexpr OptionTable kAnywhere{.command = "cmd", .usage = "[OPTIONS...] [x]", .rows = kRows};
constexpr OptionTable kStopping{
    .command = "cmd", .usage = "[OPTIONS...] [x]", .rows = kRows, .stop_at_positional = true};

std::string text_of(const Options& options, const ParsedArgs& parsed) {
    std::string text;
    if (options.all) text += "all ";
    if (!options.header) text += "noheader ";
    if (!options.name.empty()) text += "name=" + options.name + " ";
    if (options.tasks) text += "tasks=" + std::to_string(*options.tasks) + " ";
    if (options.level != "absent") text += "level=" + options.level + " ";
    for (const std::string& user : options.users)
        text += "user=" + user + " ";
    for (const std::string_view word : parsed.positional)
        text += "[" + std::string(word) + "]";
    if (parsed.exit) text += "exit " + std::to_string(*parsed.exit);
    return text;
}

TEST(ReadOptions, Table) {
    const struct {
        const char* line;
        const char* want;
    } cases[] = {
        {"cmd", ""},
        {"cmd --name=x", "name=x "},
        {"cmd --name x", "name=x "},
        {"cmd --name=", ""},
        {"cmd -nx", "name=x "},
        {"cmd -n x", "name=x "},
        {"cmd -ahn x", "all noheader name=x "},
        {"cmd -ahnx", "all noheader name=x "},
        {"cmd --na x --user a,b --user=c", "name=x user=a user=b user=c "},
        {"cmd --title=x --tasks_of 3", "name=x tasks=3 "},
        {"cmd --task 3", "tasks=3 "},
        {"cmd one -a two", "all [one][two]"},
        {"cmd -- -a two", "[-a][two]"},
        {"cmd - -a", "all [-]"},
        {"cmd -l", "level=default "},
        {"cmd -l 3", "level=default [3]"},
        {"cmd -l3 --level", "level=default "},
        {"cmd --level=3", "level=3 "},
        {"cmd --useless", ""},
        {"cmd -n -a", "name=-a "},
        {"cmd --name 'a b' ''", "name=a b []"},
    };
    for (const auto& c : cases) {
        const auto words = job_testing::words_of(c.line);
        const std::vector<std::string_view> args(words.begin() + 1, words.end());
        Options options;
        Output output("cmd");
        const ParsedArgs parsed = read_options(kAnywhere, args, &options, output);
        EXPECT_EQ(text_of(options, parsed), c.want) << c.line;
        EXPECT_EQ(output.err_text(), "") << c.line;
    }
}

TEST(ReadOptions, StopsAtTheScript) {
    const std::vector<std::string_view> args{"-a", "script", "-h", "--name=x"};
    Options options;
    Output output("cmd");
    const ParsedArgs parsed = read_options(kStopping, args, &options, output);
    EXPECT_EQ(text_of(options, parsed), "all [script][-h][--name=x]");
}

TEST(ReadOptions, Misuse) {
    constexpr const char* kTry = "Try \"cmd --help\" for more information\n";
    const struct {
        const char* line;
        std::string want;
        ExitCode exit;
    } cases[] = {
        {"cmd --x", std::string("cmd: unrecognized option '--x'\n") + kTry, 255},
        {"cmd --x=3", std::string("cmd: unrecognized option '--x=3'\n") + kTry, 255},
        {"cmd --a",
         std::string("cmd: option '--a' is ambiguous; possibilities: '--all' '--array'\n") + kTry,
         255},
        {"cmd -Z", std::string("cmd: invalid option -- 'Z'\n") + kTry, 255},
        {"cmd --name", std::string("cmd: option '--name' requires an argument\n") + kTry, 255},
        {"cmd -an", std::string("cmd: option requires an argument -- 'n'\n") + kTry, 255},
        {"cmd --all=1", std::string("cmd: option '--all' doesn't allow an argument\n") + kTry, 255},
        {"cmd --array=1", "cmd: error: --array is not built yet in this version of Twinyard\n", 1},
        {"cmd -A1", "cmd: error: --array is not built yet in this version of Twinyard\n", 1},
        {"cmd -t 0", "cmd: error: Invalid numeric value \"0\" for --tasks.\n", 1},
        {"cmd -t x", "cmd: error: Invalid numeric value \"x\" for --tasks.\n", 1},
        {"cmd --strict=x", "cmd: error: Invalid --strict specification\n", 255},
    };
    for (const auto& c : cases) {
        const auto words = job_testing::words_of(c.line);
        const std::vector<std::string_view> args(words.begin() + 1, words.end());
        Options options;
        Output output("cmd");
        const ParsedArgs parsed = read_options(kAnywhere, args, &options, output);
        EXPECT_EQ(output.err_text(), c.want) << c.line;
        EXPECT_EQ(parsed.exit, c.exit) << c.line;
    }
}

TEST(ReadOptions, HugeValueIsRefused) {
    const std::string huge(std::size_t{2} << 20, 'x');
    const std::vector<std::string_view> args{"--name", huge};
    Options options;
    Output output("cmd");
    EXPECT_EQ(read_options(kAnywhere, args, &options, output).exit, 255);
    EXPECT_EQ(output.err_text(), "cmd: error: --name: the value is longer than 1 MiB\n");
}

TEST(ReadOptions, HelpUsageVersion) {
    Options options;
    Output output("cmd");
    const std::vector<std::string_view> version{"--version"};
    EXPECT_EQ(read_options(kAnywhere, version, &options, output).exit, 0);
    EXPECT_EQ(output.out_text(), "slurm 26.05.0\n");
    EXPECT_EQ(usage_text(kAnywhere), "Usage: cmd [OPTIONS...] [x]\n");
    EXPECT_NE(help_text(kAnywhere).find("-l, --level[=value]"), std::string::npos);
    EXPECT_NE(help_text(kAnywhere).find("Twinyard:\n  --array"), std::string::npos);
}

// ---- the tables of all commands

std::vector<const OptionTable*> all_tables() {
    std::vector<const OptionTable*> tables;
    for (const Command& command : commands()) {
        if (command.table != nullptr) tables.push_back(&command.table());
    }
    return tables;
}

std::string content_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
}

/// The text of the test that a row names: a file of tests/cli, or the source that has the gtest.
std::string test_text(std::string_view name) {
    const std::string root = TWINYARD_SOURCE_DIR;
    if (name.ends_with(".test")) return content_of(root + "/tests/cli/" + std::string(name));
    const auto parts = split_once(name, '.');
    if (!parts) return {};
    const std::string head =
        "TEST(" + std::string(parts->first) + ", " + std::string(parts->second) + ")";
    const std::string folder = root + "/src/cli/";
    std::string found;
    DIR* entries = ::opendir(folder.c_str());
    while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries)) {
        const std::string_view file = entry->d_name;
        if (!file.ends_with("_test.cpp")) continue;
        const std::string text = content_of(folder + std::string(file));
        const std::size_t at = text.find(head);
        if (at != std::string::npos) found = text.substr(at, text.find("\n}\n", at) - at);
    }
    if (entries != nullptr) ::closedir(entries);
    return found;
}

bool uses(const std::string& test, const OptionRow& row) {
    for (const std::string_view name : split(row.names, '|')) {
        if (!name.empty() && test.find("--" + std::string(name)) != std::string::npos) return true;
    }
    if (row.letter == 0) return false;
    // Alone or in a bundle: " -aho", "\"-n".
    for (std::size_t at = test.find('-'); at != std::string::npos; at = test.find('-', at + 1)) {
        if (at == 0 || (test[at - 1] != ' ' && test[at - 1] != '"')) continue;
        for (std::size_t i = at + 1; i < test.size() && std::isalpha(test[i]) != 0; ++i) {
            if (test[i] == row.letter) return true;
        }
    }
    return false;
}

TEST(OptionTables, EachBuiltOptionNamesATestThatUsesIt) {
    for (const OptionTable* table : all_tables()) {
        for (const OptionRow& row : table->rows) {
            if (row.state == OptionState::NoEffect) {
                EXPECT_FALSE(row.test.empty()) << table->command << " --" << row.names;
            }
            if (row.state != OptionState::Built) continue;
            const std::string test = test_text(row.test);
            EXPECT_FALSE(test.empty())
                << table->command << " --" << row.names << " names no test: " << row.test;
            EXPECT_TRUE(test.empty() || uses(test, row))
                << row.test << " does not use " << table->command << " --" << row.names;
        }
    }
}

TEST(OptionTables, NamesAndLettersAreUniqueAndSettersThere) {
    for (const OptionTable* table : all_tables()) {
        std::set<std::string_view> names;
        std::set<char> letters;
        for (const OptionRow& row : table->rows) {
            for (const std::string_view name : split(row.names, '|'))
                EXPECT_TRUE(name.empty() || names.insert(name).second) << table->command << name;
            EXPECT_TRUE(row.letter == 0 || letters.insert(row.letter).second)
                << table->command << " -" << row.letter;
            EXPECT_EQ(row.set != nullptr, row.state == OptionState::Built)
                << table->command << " --" << row.names;
        }
    }
}

}  // namespace
}  // namespace twinyard::cli
