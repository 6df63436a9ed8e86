#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/verbs.h"

namespace twinyard::cli {

namespace {

constexpr std::string_view kVersion = "twinyard 0.1.0 (speaks slurm 26.05.0)\n";
constexpr std::string_view kNotBuilt = "not built yet in this version of Twinyard";

constexpr auto kCommands = std::to_array<Command>({
    {"sbatch", run_sbatch, sbatch_table},
    {"srun", run_srun, srun_table},
    {"salloc"},
    {"squeue", run_squeue, squeue_table},
    {"sinfo", run_sinfo, sinfo_table},
    {"scancel", run_scancel, scancel_table},
    {"scontrol", run_scontrol, scontrol_table},
    {"sacct", run_sacct, sacct_table},
    {"sstat"},
    {"sattach"},
    {"sbcast"},
    {"sprio"},
    {"sdiag"},
    {"sshare"},
    {"sreport"},
    {"sacctmgr"},
    {"strigger"},
    {"scrontab"},
    {"seff"},
});

/// Verbs that are executables of their own, as they need more than a command does.
constexpr auto kOtherExecutables = std::to_array<std::string_view>(
    {"up", "down", "status", "check-config", "sim", "simulate", "apply", "policy", "kubeconfig"});

constexpr std::string_view kHelp =
    "Usage: twinyard VERB [args...]\n"
    "\n"
    "  up, down, status      a cluster on this machine\n"
    "  explain JOB           why a job waits, who is ahead, when it may start\n"
    "  check-config FILE     what a slurm.conf means here, line by line\n"
    "  sbatch, squeue ...    any of Slurm's commands by its name\n"
    "  --version, --help\n";

const Command* find_command(std::string_view name) {
    const auto found = std::ranges::find(kCommands, name, &Command::name);
    return found == kCommands.end() ? nullptr : &*found;
}

bool asks_for_version(Args args) {
    return args.size() == 1 && (args[0] == "--version" || args[0] == "-V");
}

ExitCode run_command(const Command& command,
                     Args args,
                     const Environment& environment,
                     Cluster& cluster,
                     Output& output) {
    if (command.run != nullptr) return command.run(args, environment, cluster, output);
    if (asks_for_version(args)) {
        output.out(std::string(kSlurmVersion) + "\n");
        return kOk;
    }
    output.error(kNotBuilt);
    return kFailed;
}

std::string joined_line(std::string_view name, Args args) {
    std::string line(name);
    for (const std::string_view arg : args) {
        line += ' ';
        line += arg;
    }
    return line;
}

}  // namespace

std::span<const Command> commands() {
    return kCommands;
}

ExitCode run_twinyard(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
        output.out(kHelp);
        return args.empty() ? kFailed : kOk;
    }
    if (asks_for_version(args)) {
        output.out(kVersion);
        return kOk;
    }
    const std::string_view verb = args[0];
    const Args rest = args.subspan(1);
    if (verb == "explain") return run_explain(rest, environment, cluster, output);
    if (std::ranges::find(kOtherExecutables, verb) != kOtherExecutables.end())
        return run_other_executable(verb, rest, output);
    output.error("no verb '" + printable(verb, 60) + "': see twinyard --help");
    return kFailed;
}

ExitCode run_main(int argc, char** argv) {
    std::vector<std::string_view> words(argv, argv + argc);
    if (words.empty()) words.emplace_back("twinyard");
    words[0] = words[0].substr(words[0].rfind('/') + 1);
    // `twinyard sbatch …` is sbatch.
    if (find_command(words[0]) == nullptr && words.size() > 1 && find_command(words[1]) != nullptr)
        words.erase(words.begin());
    const std::string_view name = words[0];
    const Args args = Args(words).subspan(1);
    const Command* command = find_command(name);
    Output output(command == nullptr ? "twinyard" : name, STDOUT_FILENO, STDERR_FILENO);
    Environment environment = Environment::of_this_process();
    environment.command_line = joined_line(name, args);
    const auto cluster = connect_to_cluster();
    if (command != nullptr) return run_command(*command, args, environment, *cluster, output);
    return run_twinyard(args, environment, *cluster, output);
}

}  // namespace twinyard::cli
