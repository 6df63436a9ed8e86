// scancel: ids and filters → one request, resolved by the controller. An unknown id is no failure:
// what should be gone is gone.
#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "cli/commands.h"
#include "slurm/errors.h"
#include "slurm/signal_names.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

using enum Argument;

struct ScancelOptions {
    const Environment* environment = nullptr;
    Output* output = nullptr;
    api::CancelRequest request;
    bool batch = false, full = false, interactive = false, quiet = false;
    std::uint32_t verbose = 0;
};

template <auto Member>
Status target_list(ScancelOptions& options, OptionValue value) {
    for (const std::string_view item : split_list(value.text))
        (options.request.targets.*Member).emplace_back(item);
    return {};
}

Status set_user(ScancelOptions& options, OptionValue value) {
    for (const std::string_view name : split_list(value.text)) {
        const auto uid = options.environment->user_id(name);
        if (!uid) return fail(ErrorCode::Conflict, "Invalid user name: " + printable(name, 60));
        options.request.targets.uids.push_back(*uid);
    }
    return {};
}

Status set_me(ScancelOptions& options, OptionValue) {
    options.request.targets.uids.push_back(options.environment->uid);
    return {};
}

Status set_signal_name(ScancelOptions& options, OptionValue value) {
    const auto number = slurm::signal_number(value.text);
    if (!number)
        return fail(ErrorCode::Conflict, "Unknown job signal: " + printable(value.text, 60));
    options.request.signal = *number;
    return {};
}

Status set_state(ScancelOptions& options, OptionValue value) {
    for (const std::string_view word : split_list(value.text)) {
        const auto state = slurm::parse_job_state(word);
        const bool allowed =
            state && (*state == "PENDING" || *state == "RUNNING" || *state == "SUSPENDED");
        if (!allowed) {
            return fail(ErrorCode::Conflict,
                        "Invalid job state specified: " + printable(word, 60) +
                            "\nValid job states are PENDING, RUNNING, and SUSPENDED");
        }
        options.request.targets.states.emplace_back(*state);
    }
    return {};
}

Status more_verbose(ScancelOptions& options, OptionValue) {
    ++options.verbose;
    return {};
}

constexpr OptionRow built(std::string_view names,
                          char letter,
                          Argument argument,
                          OptionSetter set,
                          std::string_view variable,
                          std::string_view test,
                          std::string_view help,
                          std::string_view value = {}) {
    return {.names = names,
            .letter = letter,
            .argument = argument,
            .state = OptionState::Built,
            .set = set,
            .test = test,
            .variable = variable,
            .help = help,
            .value = value};
}

constexpr std::string_view kFilters = "Scancel.FiltersReachTheRequest";

constexpr OptionRow kRows[] = {
    built("account",
          'A',
          Required,
          call<&target_list<&api::JobTargets::accounts>>,
          "SCANCEL_ACCOUNT",
          kFilters,
          "jobs of these accounts",
          "names"),
    not_built("admin-comment"),
    built("batch",
          'b',
          None,
          keep_flag<&ScancelOptions::batch>,
          "SCANCEL_BATCH",
          "Scancel.Signals",
          "signal the batch shell alone"),
    not_built("clusters|cluster", 'M'),
    no_effect("ctld", 0, None, "signals always go through the controller"),
    not_built("cron", 'c', None),
    built("full",
          'f',
          None,
          keep_flag<&ScancelOptions::full>,
          "SCANCEL_FULL",
          "Scancel.Signals",
          "signal batch shell and steps"),
    kHelpRow,
    not_built("hurry", 'H', None),
    built("interactive",
          'i',
          None,
          keep_flag<&ScancelOptions::interactive>,
          "SCANCEL_INTERACTIVE",
          "Scancel.Interactive",
          "ask before each job"),
    built("jobname|name",
          'n',
          Required,
          call<&target_list<&api::JobTargets::names>>,
          "SCANCEL_NAME",
          kFilters,
          "jobs of these names",
          "names"),
    built("me", 0, None, call<&set_me>, "", kFilters, "jobs of mine"),
    built("nodelist",
          'w',
          Required,
          call<&target_list<&api::JobTargets::nodes>>,
          "",
          kFilters,
          "jobs on these nodes",
          "hosts"),
    built("partition",
          'p',
          Required,
          call<&target_list<&api::JobTargets::partitions>>,
          "SCANCEL_PARTITION",
          kFilters,
          "jobs of these partitions",
          "names"),
    built("qos",
          'q',
          Required,
          call<&target_list<&api::JobTargets::qos>>,
          "SCANCEL_QOS",
          kFilters,
          "jobs of these qualities of service",
          "names"),
    built("quiet",
          'Q',
          None,
          keep_flag<&ScancelOptions::quiet>,
          "",
          "Scancel.FinishedJobs",
          "say nothing of jobs that have ended"),
    not_built("reservation", 'R'),
    not_built("sibling"),
    built("signal",
          's',
          Required,
          call<&set_signal_name>,
          "",
          "Scancel.Signals",
          "send this signal instead of ending the job",
          "signal"),
    built("state",
          't',
          Required,
          call<&set_state>,
          "SCANCEL_STATE",
          kFilters,
          "jobs in these states",
          "states"),
    kUsageRow,
    built("user",
          'u',
          Required,
          call<&set_user>,
          "SCANCEL_USER",
          kFilters,
          "jobs of these users",
          "names"),
    built("verbose",
          'v',
          None,
          call<&more_verbose>,
          "SCANCEL_VERBOSE",
          "Scancel.FinishedJobs",
          "say what is done"),
    kVersionRow,
    not_built("wckey", 0, Required, "SCANCEL_WCKEY"),
};

constexpr OptionTable kTable{
    .command = "scancel", .usage = "[OPTIONS...] [job_id...]", .rows = kRows};

bool has_filter(const api::JobTargets& targets) {
    return !targets.names.empty() || !targets.partitions.empty() || !targets.accounts.empty() ||
           !targets.qos.empty() || !targets.states.empty() || !targets.nodes.empty() ||
           !targets.uids.empty();
}

/// "17", and what only later versions have: "17_3", "17.0", "17+1".
Result<std::uint32_t> parse_job(std::string_view text) {
    const auto number = parse_number<std::uint32_t>(text, 1);
    if (number) return *number;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits > 0 && digits < text.size()) {
        const char mark = text[digits];
        const std::string id = printable(text, 60);
        if (mark == '_') return fail(ErrorCode::Conflict, id + ": job arrays are not built yet");
        if (mark == '.')
            return fail(ErrorCode::Conflict, id + ": signals to single steps are not built yet");
        if (mark == '+')
            return fail(ErrorCode::Conflict, id + ": heterogeneous jobs are not built yet");
    }
    return fail(ErrorCode::InvalidArgument, "Invalid job id " + printable(text, 60));
}

bool read_jobs(const std::vector<std::string_view>& words, ScancelOptions& options) {
    for (const std::string_view word : words) {
        for (const std::string_view id : split_list(word)) {
            const auto job = parse_job(id);
            if (!job) {
                options.output->error(job.error().message());
                return false;
            }
            options.request.targets.jobs.push_back(*job);
        }
    }
    return true;
}

/// -i: the jobs that the user says yes to; the question goes to stdout, as in Slurm.
Result<std::vector<std::uint32_t>> confirmed(const ScancelOptions& options, Cluster& cluster) {
    const api::JobTargets& targets = options.request.targets;
    api::JobQuery query{.jobs = targets.jobs, .uids = targets.uids};
    query.partitions = targets.partitions;
    query.names = targets.names;
    query.accounts = targets.accounts;
    query.qos = targets.qos;
    query.nodes = targets.nodes;
    query.states = targets.states;
    TRY(const auto rows, rows_of<api::JobRow>(cluster, &Cluster::list_jobs, query));
    TRY(const std::string text, options.environment->read_file("-", std::size_t{64} << 10));
    const std::vector<std::string_view> answers = split(text, '\n');
    std::vector<std::uint32_t> jobs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const api::JobRow& row = rows[i];
        options.output->out("Cancel job_id=" + std::to_string(row.job) + " name=" + row.name +
                            " partition=" + row.partition + " [y/n]? ");
        if (i < answers.size() && starts_with_nocase(trim(answers[i]), "y"))
            jobs.push_back(row.job);
    }
    options.output->out("\n");
    return jobs;
}

/// Which failures speak and count is Slurm's: an unknown id is silent, a job that has ended is
/// mentioned but no failure.
ExitCode print_answer(const api::TargetsAnswer& answer, const ScancelOptions& options) {
    ExitCode exit = kOk;
    for (const api::TargetsAnswer::Entry& entry : answer.entries) {
        const std::string job = std::to_string(entry.job);
        if (entry.error.empty()) {
            if (options.verbose > 0) options.output->note("Terminating job " + job);
            continue;
        }
        if (entry.error == slurm::text_of(slurm::Refusal::InvalidJobId)) {
            if (options.verbose > 0)
                options.output->error("Kill job error on job id " + job + ": " + entry.error);
            continue;
        }
        const bool ended = entry.error == slurm::text_of(slurm::Refusal::JobFinished);
        if (ended && options.verbose == 0) continue;
        if (!ended) exit = kFailed;
        if (!options.quiet || !ended)
            options.output->error("Kill job error on job id " + job + ": " + entry.error);
    }
    return exit;
}

}  // namespace

const OptionTable& scancel_table() {
    return kTable;
}

ExitCode run_scancel(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    ScancelOptions options{.environment = &environment, .output = &output};
    if (const auto exit = read_variables(kTable, environment, &options, output)) return *exit;
    const ParsedArgs parsed = read_options(kTable, args, &options, output);
    if (parsed.exit) return *parsed.exit;
    if (!read_jobs(parsed.positional, options)) return kFailed;
    api::CancelRequest& request = options.request;
    if (request.targets.jobs.empty() && !has_filter(request.targets)) {
        output.error("No job identification provided");
        return kFailed;
    }
    if (options.batch) {
        // The batch shell alone can only be signalled; without a signal it is killed, as in Slurm.
        request.scope = api::SignalScope::BatchShell;
        request.signal = request.signal.value_or(SIGKILL);
    }
    if (options.full) request.scope = api::SignalScope::All;
    if (options.interactive) {
        auto jobs = confirmed(options, cluster);
        if (!jobs) {
            output.error(jobs.error().message());
            return kFailed;
        }
        if (jobs->empty()) return kOk;
        request.targets = {.jobs = std::move(*jobs)};
    }
    const auto answer = cluster.cancel(request);
    if (answer) return print_answer(*answer, options);
    output.error("Kill job error: " + answer.error().message());
    return kFailed;
}

}  // namespace twinyard::cli
