// squeue: options become one query, rows become lines.
#include "cli/squeue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "slurm/errors.h"
#include "slurm/squeue_format.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

constexpr std::string_view kStates =
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,"
    "DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,"
    "REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";
constexpr std::string_view kLoadJobs = "slurm_load_jobs error";

/// One run of the command.
struct Squeue {
    SqueueOptions options;
    std::optional<FormatChoice> variable_format;
    const Environment& environment;
    Cluster& cluster;
    Output& output;

    slurm::Layout layout;
    api::JobQuery query;
    bool matches_nothing = false;  ///< A filter that no job can pass, such as an unknown user.
};

// ---- the layout

slurm::Layout layout_of(const FormatChoice& choice) {
    return choice.by_name ? slurm::squeue_name_layout(choice.text)
                          : slurm::squeue_layout(choice.text);
}

/// What is asked for by name wins over -l and its like, they over the variables.
FormatChoice chosen_format(const Squeue& run) {
    const SqueueOptions& options = run.options;
    if (options.format) return *options.format;
    if (options.start) return {std::string(slurm::kSqueueStart)};
    if (options.long_list) return {std::string(slurm::kSqueueLong)};
    if (options.state_only) return {std::string(slurm::kSqueueStateOnly)};
    if (run.variable_format) return *run.variable_format;
    return {std::string(slurm::kSqueueDefault)};
}

void set_layout(Squeue& run) {
    run.layout = layout_of(chosen_format(run));
    for (const std::string& error : run.layout.errors)
        run.output.error(error);
    const auto shows = [&](std::initializer_list<std::string_view> names) {
        return has_field(run.layout, slurm::squeue_fields(), names);
    };
    run.query.with_forecast = run.options.start || shows({"starttime", "endtime", "schednodes"});
    run.query.with_detail = shows({"stdout", "stderr", "stdin"});
}

// ---- the query

/// "5", "5_3", "5_[1-4]", "5+0": only plain numbers name jobs that can exist.
bool add_job(Squeue& run, std::string_view text) {
    const auto number = parse_number<std::uint32_t>(text.substr(0, text.find_first_of("_+")), 1);
    if (!number) {
        run.output.error("Invalid job id: " + printable(text, 60));
        return false;
    }
    if (text.find_first_of("_+") == std::string_view::npos) run.query.jobs.push_back(*number);
    return true;
}

bool set_jobs(Squeue& run) {
    for (const std::string& text : run.options.jobs) {
        if (!add_job(run, text)) return false;
    }
    run.matches_nothing |= !run.options.jobs.empty() && run.query.jobs.empty();
    return true;
}

bool set_states(Squeue& run) {
    if (run.options.states.empty() && run.options.start) run.query.states = {"PENDING"};
    for (const std::string& text : run.options.states) {
        if (equal_nocase(text, "all")) {
            run.query.all_states = true;
            continue;
        }
        const auto state = slurm::parse_job_state(text);
        if (!state) {
            run.output.error("Invalid job state specified: " + printable(text, 60) +
                             "\nValid job states include: " + std::string(kStates));
            return false;
        }
        run.query.states.emplace_back(*state);
    }
    return true;
}

/// An unknown user is told about, but is no failure: there are no jobs of that user.
void set_users(Squeue& run) {
    for (const std::string& text : run.options.users) {
        if (const auto uid = find_user(run.environment, text)) {
            run.query.uids.push_back(*uid);
        } else {
            run.output.error("Invalid user: " + printable(text, 60));
        }
    }
    if (run.options.me) run.query.uids.push_back(run.environment.uid);
    run.matches_nothing |= !run.options.users.empty() && run.query.uids.empty();
}

/// Unlike other filters, -w fails for a node that does not exist.
bool set_nodes(Squeue& run) {
    if (run.options.nodes.empty()) return true;
    auto names = expand_hostlist(run.options.nodes);
    if (!names) {
        run.output.error("'" + printable(run.options.nodes, 60) + "' invalid entry for --nodelist");
        return false;
    }
    std::ranges::replace(*names, "localhost", run.environment.host_name);
    const auto rows = rows_of<api::NodeRow>(run.cluster, &Cluster::list_nodes, {.nodes = *names});
    if (!rows) {
        print_error(run.output, "slurm_load_node error", rows.error());
        return false;
    }
    for (const std::string& name : *names) {
        if (std::ranges::find(*rows, name, &api::NodeRow::name) != rows->end()) continue;
        run.output.error("Invalid node name " + printable(name, 60));
        return false;
    }
    run.query.nodes = std::move(*names);
    return true;
}

bool set_query(Squeue& run) {
    run.query.partitions = run.options.partitions;
    run.query.names = run.options.names;
    run.query.accounts = run.options.accounts;
    run.query.qos = run.options.qos;
    set_users(run);
    return set_jobs(run) && set_states(run) && set_nodes(run);
}

// ---- the rows

/// A single id that is not there is an error; of several, those that are there are listed.
Status check_single_job(Squeue& run) {
    if (run.query.jobs.size() != 1 || run.options.jobs.size() != 1) return {};
    const api::JobQuery any{.jobs = run.query.jobs, .all_states = true};
    TRY(const auto rows, rows_of<api::JobRow>(run.cluster, &Cluster::list_jobs, any));
    if (rows.empty()) return slurm::refuse(slurm::Refusal::InvalidJobId);
    return {};
}

Result<std::vector<api::JobRow>> load_jobs(Squeue& run) {
    if (run.matches_nothing) return std::vector<api::JobRow>{};
    TRY(auto rows, rows_of<api::JobRow>(run.cluster, &Cluster::list_jobs, run.query));
    if (rows.empty()) TRY_STATUS(check_single_job(run));
    if (run.options.not_me) {
        std::erase_if(rows, [&](const auto& row) { return row.uid == run.environment.uid; });
    }
    return rows;
}

ExitCode print_jobs(Squeue& run, std::vector<api::JobRow> rows) {
    slurm::TextContext context = text_context(run.environment);
    context.convert_units = !run.options.no_convert;
    if (has_field(run.layout, slurm::squeue_fields(), {"cluster"})) {
        const auto info = run.cluster.info();
        if (info) context.cluster = info->cluster;
    }
    const std::string_view keys = run.options.start ? slurm::kSqueueStartSort : slurm::kSqueueSort;
    const Status sorted =
        slurm::sort_jobs(rows, run.options.sort.value_or(std::string(keys)), context);
    if (!sorted) {
        run.output.error(sorted.error().message());
        return kFailed;
    }
    std::string text;
    if (!run.options.no_header) {
        if (run.options.long_list) text += date_line(context);
        slurm::append_header(text, run.layout);
    }
    for (const api::JobRow& row : rows) {
        slurm::append_job(text, run.layout, row, context);
        if (text.size() > 65536) run.output.out(std::exchange(text, {}));
    }
    run.output.out(text);
    return kOk;
}

}  // namespace

ExitCode run_squeue(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    Squeue run{.options = {},
               .variable_format = {},
               .environment = environment,
               .cluster = cluster,
               .output = output,
               .layout = {},
               .query = {}};
    if (const auto exit = read_variables(squeue_table(), environment, &run.options, output))
        return *exit;
    run.variable_format = std::exchange(run.options.format, std::nullopt);
    const ParsedArgs parsed = read_options(squeue_table(), args, &run.options, output);
    if (parsed.exit) return *parsed.exit;
    if (!parsed.positional.empty()) {
        output.error("Unrecognized option: " + printable(parsed.positional.front(), 60));
        output.err(usage_text(squeue_table()));
        return kFailed;
    }
    set_layout(run);
    if (!set_query(run)) return kFailed;
    auto rows = load_jobs(run);
    if (!rows) {
        print_error(output, kLoadJobs, rows.error());
        return kFailed;
    }
    return print_jobs(run, std::move(*rows));
}

}  // namespace twinyard::cli
