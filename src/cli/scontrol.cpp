// scontrol: options, and the table of its commands.
#include "cli/scontrol.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "slurm/scontrol_text.h"

namespace twinyard::cli {

namespace {

using O = ScontrolOptions;
using enum Argument;
using enum OptionState;

constexpr auto kRows = std::to_array<OptionRow>({
    {.names = "all",
     .letter = 'a',
     .state = Built,
     .set = keep_flag<&O::all>,
     .test = "Scontrol.Partitions",
     .variable = "SCONTROL_ALL",
     .help = "hidden partitions too"},
    not_built("clusters|cluster", 'M'),
    {.names = "details",
     .letter = 'd',
     .state = Built,
     .set = keep_flag<&O::detail>,
     .test = "Scontrol.Jobs",
     .help = "more of each job and node"},
    not_built("federation", 0, None, "SCONTROL_FEDERATION"),
    not_built("future", 'F', None, "SCONTROL_FUTURE"),
    {.names = "hide",
     .state = Built,
     .set = keep_flag<&O::all, false>,
     .test = "Scontrol.Partitions",
     .help = "no hidden partitions (default)"},
    not_built("json", 0, Optional),
    no_effect("local", 0, None, "there is one cluster, this one"),
    {.names = "oneliner",
     .letter = 'o',
     .state = Built,
     .set = keep_flag<&O::one_line>,
     .test = "Scontrol.Jobs",
     .help = "one line a record"},
    {.names = "quiet",
     .letter = 'Q',
     .state = Built,
     .set = keep_flag<&O::quiet>,
     .test = "Scontrol.Jobs",
     .help = "do not say that nothing was found"},
    not_built("sibling", 0, None, "SCONTROL_SIBLING"),
    not_built("uid", 'u'),
    no_effect("verbose", 'v', None, "the command has nothing more to say"),
    not_built("yaml", 0, Optional),
    {.names = "help", .letter = 'h', .state = Help, .help = "show this help message"},
    kUsageRow,
    kVersionRow,
});

constexpr OptionTable kTable{
    .command = "scontrol",
    .usage =
        "[-adoQ] show {job|node|partition} [name] | show {config|hostnames|hostlist|"
        "hostlistsorted} | update KEY=VALUE... | {hold|uhold|release|requeue|requeuehold} "
        "JOBS | write batch_script JOB [FILE|-] | ping | reconfigure | version",
    .rows = kRows,
};

// ---- small commands

ExitCode ping(Scontrol& run, std::string_view, Args) {
    const auto info = run.cluster.info();
    if (info) {
        run.output.out(slurm::ping_text(with_host(*info, run.environment)));
        return kOk;
    }
    run.output.out("Slurmctld(primary) at " + run.environment.host_name + " is DOWN\n" +
                   "*****************************************\n"
                   "** RESTORE SLURMCTLD DAEMON TO SERVICE **\n"
                   "*****************************************\n");
    return kFailed;
}

ExitCode reconfigure(Scontrol& run, std::string_view, Args) {
    const Status done = run.cluster.reconfigure();
    if (done) return kOk;
    print_error(run.output, "slurm_reconfigure error", done.error());
    return kFailed;
}

ExitCode version(Scontrol& run, std::string_view, Args) {
    run.output.out(std::string(kSlurmVersion) + "\n");
    return kOk;
}

ExitCode not_built(Scontrol& run, std::string_view keyword, Args) {
    return run.not_built(printable(keyword, 60));
}

struct CommandRow {
    std::string_view word;
    std::size_t min_letters;
    std::size_t min_words, max_words;  ///< After it.
    ScontrolCommand run;
};

constexpr std::size_t kAny = 10'000;

// In Slurm's order: of several that a beginning fits, the first one is meant.
constexpr auto kCommands = std::to_array<CommandRow>({
    {"abort", 5, 0, kAny, not_built},
    {"cancel_reboot", 8, 0, kAny, not_built},
    {"completing", 2, 0, kAny, not_built},
    {"cluster", 2, 0, kAny, not_built},
    {"create", 2, 0, kAny, not_built},
    {"delete", 2, 0, kAny, not_built},
    {"errnumstr", 2, 0, kAny, not_built},
    {"fsdampeningfactor", 2, 0, kAny, not_built},
    {"getaddrs", 2, 0, kAny, not_built},
    {"hold", 2, 1, kAny, scontrol_act},
    {"uhold", 2, 1, kAny, scontrol_act},
    {"listpids", 2, 0, kAny, not_built},
    {"listjobs", 5, 0, kAny, not_built},
    {"liststeps", 5, 0, kAny, not_built},
    {"notify", 1, 0, kAny, not_built},
    {"pidinfo", 3, 0, kAny, not_built},
    {"ping", 3, 0, 0, ping},
    {"power", 3, 0, kAny, not_built},
    {"reboot", 3, 0, kAny, not_built},
    {"reconfigure", 3, 0, 0, reconfigure},
    {"release", 3, 1, kAny, scontrol_act},
    {"requeuehold", 8, 1, kAny, scontrol_act},
    {"requeue", 3, 1, kAny, scontrol_act},
    {"resume", 3, 0, kAny, not_built},
    {"schedloglevel", 3, 0, kAny, not_built},
    {"script", 3, 0, kAny, not_built},
    {"setdebug", 8, 0, kAny, not_built},
    {"setdebugflags", 9, 0, kAny, not_built},
    {"show", 2, 1, 2, scontrol_show},
    {"shutdown", 8, 0, kAny, not_built},
    {"suspend", 2, 0, kAny, not_built},
    {"takeover", 8, 0, kAny, not_built},
    {"token", 2, 0, kAny, not_built},
    {"top", 3, 0, kAny, not_built},
    {"update", 2, 1, kAny, scontrol_update},
    {"version", 4, 0, 0, version},
    {"wait_job", 2, 0, kAny, not_built},
    {"write", 1, 1, 3, scontrol_write},
});

/// Words that are options too: `scontrol oneliner show job` does not exist, but `show` may be
/// written behind them.
ExitCode run_words(Scontrol& run, Args words) {
    const std::string_view keyword = words.front();
    const auto row = std::ranges::find_if(kCommands, [&](const CommandRow& command) {
        return is_word(keyword, command.word, command.min_letters);
    });
    if (row == kCommands.end()) return run.err("invalid keyword: " + printable(keyword, 60));
    const Args rest = words.subspan(1);
    const std::string shown = printable(keyword, 60);
    if (rest.size() < row->min_words) {
        return run.err(row->word == "update" ? "too few arguments for update keyword"
                                             : "too few arguments for keyword:" + shown);
    }
    if (rest.size() > row->max_words) return run.err("too many arguments for keyword:" + shown);
    return row->run(run, keyword, rest);
}

}  // namespace

const OptionTable& scontrol_table() {
    return kTable;
}

bool is_word(std::string_view text, std::string_view word, std::size_t min) {
    return text.size() >= min && starts_with_nocase(word, text);
}

api::ControllerInfo with_host(api::ControllerInfo info, const Environment& environment) {
    if (!info.host.empty()) return info;
    info.host = environment.host_name;
    for (const auto& [key, value] : info.config) {
        if (key.starts_with("SlurmctldHost")) {
            info.host = value.substr(0, value.find('('));
            break;
        }
    }
    return info;
}

ExitCode run_scontrol(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    Scontrol run{.options = {}, .environment = environment, .cluster = cluster, .output = output};
    if (const auto exit = read_variables(kTable, environment, &run.options, output)) return *exit;
    const ParsedArgs parsed = read_options(kTable, args, &run.options, output);
    if (parsed.exit) return *parsed.exit;
    if (parsed.positional.empty()) return run.not_built("the interactive mode");
    return run_words(run, parsed.positional);
}

}  // namespace twinyard::cli
