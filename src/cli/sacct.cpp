// sacct: a window of history, row by row.
#include "cli/sacct.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "slurm/begin_time.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

using api::AccountingRecord;

constexpr std::size_t kPartBytes = 65536;

/// A job of -j, or one of its steps.
struct Wanted {
    std::uint32_t job = 0;
    std::optional<std::int32_t> step;
};

struct Sacct {
    const SacctOptions& options;
    const Environment& environment;
    Cluster& cluster;
    Output& output;

    slurm::SacctLayout layout;
    api::AccountingQuery query;
    std::vector<Wanted> wanted;
    std::vector<std::string> states;  ///< Long words.
    std::int64_t from_ms = 0, to_ms = 0;
    bool matches_nothing = false;

    bool fatal(const std::string& text) const {
        output.err("sacct: fatal: " + text + "\n");
        return false;
    }
    bool error(const std::string& text) const {
        output.error(text);
        return false;
    }
};

// ---- options

bool set_layout(Sacct& run) {
    std::string fields = run.options.fields;
    if (fields.empty()) {
        const auto variable = run.environment.get("SACCT_FORMAT");
        fields = variable && !variable->empty() ? *variable : slurm::kSacctDefault;
    }
    auto layout = slurm::sacct_layout(fields);
    if (!layout) return run.error(layout.error().message());
    run.layout = std::move(*layout);
    run.layout.style = run.options.style;
    run.layout.delimiter = run.options.delimiter;
    run.layout.units = run.options.units;
    run.layout.convert_units = !run.options.no_convert;
    return true;
}

std::optional<std::int32_t> step_number(std::string_view text) {
    if (equal_nocase(text, "batch")) return api::kBatchStep;
    if (equal_nocase(text, "extern")) return api::kExternStep;
    const auto number = parse_number<std::int32_t>(text, 0);
    return number ? std::optional(*number) : std::nullopt;
}

/// "5", "5.batch", "5-9"; "5_3" and "5+0" name elements that no job has.
bool add_job(Sacct& run, std::string_view text) {
    const auto bad = [&] { return run.fatal("Bad job/step specified: " + printable(text, 60)); };
    const auto step = split_once(text, '.');
    const std::string_view job = step ? step->first : text;
    const std::size_t element = job.find_first_of("_+");
    const std::string_view range = job.substr(0, element);
    const auto dash = split_once(range, '-');
    const auto first = parse_number<std::uint32_t>(dash ? dash->first : range, 1);
    const auto last = dash ? parse_number<std::uint32_t>(dash->second, 1) : first;
    if (!first || !last || *last < *first || *last - *first >= kHostlistMax) return bad();
    Wanted wanted;
    if (step) {
        wanted.step = step_number(step->second);
        if (!wanted.step) return bad();
    }
    if (element != std::string_view::npos) return true;
    for (std::uint64_t id = *first; id <= *last; ++id) {
        wanted.job = static_cast<std::uint32_t>(id);
        run.wanted.push_back(wanted);
        run.query.jobs.emplace_back(wanted.job);
    }
    return true;
}

bool set_jobs(Sacct& run) {
    for (const std::string& text : run.options.jobs) {
        if (!add_job(run, text)) return false;
    }
    run.matches_nothing = !run.options.jobs.empty() && run.wanted.empty();
    return true;
}

/// Whoever names jobs or users means those; else an ordinary user means their own.
bool set_users(Sacct& run) {
    for (const std::string& text : run.options.users) {
        const auto uid = find_user(run.environment, text);
        if (!uid) return run.error("Invalid user id: " + printable(text, 60));
        run.query.uids.push_back(*uid);
    }
    const bool own = run.options.users.empty() && run.options.jobs.empty() &&
                     !run.options.all_users && run.environment.uid != 0;
    if (own) run.query.uids.push_back(run.environment.uid);
    return true;
}

bool set_states(Sacct& run) {
    for (const std::string& text : run.options.states) {
        const auto state = slurm::parse_job_state(text);
        if (!state) return run.fatal("unrecognized job state value '" + printable(text, 60) + "'");
        run.states.emplace_back(*state);
    }
    return true;
}

bool set_clusters(Sacct& run) {
    for (const std::string& name : run.options.clusters) {
        if (equal_nocase(name, "all")) continue;
        const auto info = run.cluster.info();
        if (!info) {
            print_error(run.output, "sacct: error", info.error());
            return false;
        }
        if (!equal_nocase(info->cluster, name)) {
            return run.error("'" + printable(name, 60) +
                             "' can't be reached now, or it is an invalid entry for --cluster.");
        }
    }
    return true;
}

// ---- the window

std::optional<std::int64_t> time_of(const Sacct& run, const std::string& text) {
    const auto seconds = slurm::parse_time_word(
        text, run.environment.now_ms() / 1000, run.environment.calendar, true);
    if (seconds) return *seconds;
    run.output.err(seconds.error().message() + "\n");
    return std::nullopt;
}

std::int64_t midnight_ms(const Sacct& run) {
    const std::int64_t now_s = run.environment.now_ms() / 1000;
    return slurm::parse_time_word("midnight", now_s, run.environment.calendar, true).value_or(0) *
           1000;
}

/// Without -S: midnight; with -j: all of history; with -s alone: now. Without -E: now, or with -s
/// what -S says. "Now" has no upper end, so that what was acknowledged this second is there.
bool set_window(Sacct& run) {
    const bool by_state = !run.options.states.empty();
    const bool by_job = !run.options.jobs.empty();
    run.to_ms = std::numeric_limits<std::int64_t>::max();
    if (run.options.start) {
        const auto start = time_of(run, *run.options.start);
        if (!start) return false;
        run.from_ms = *start * 1000;
        if (by_state) run.to_ms = run.from_ms + 999;
    } else if (!by_job) {
        run.from_ms = by_state ? run.environment.now_ms() : midnight_ms(run);
    }
    if (run.options.end) {
        const auto end = time_of(run, *run.options.end);
        if (!end) return false;
        run.to_ms = *end * 1000 + 999;
        // The default start is no reason to fail: everything is before it then.
        if (!run.options.start && run.to_ms < run.from_ms) run.from_ms = 0;
    }
    if (run.to_ms < run.from_ms) return run.error("Start time requested is after end time");
    if (run.from_ms > 0) run.query.from = WallTime(Millis(run.from_ms));
    if (run.to_ms != std::numeric_limits<std::int64_t>::max())
        run.query.to = WallTime(Millis(run.to_ms));
    return true;
}

// ---- rows

std::int64_t ms(WallTime time) {
    return time.time_since_epoch().count();
}

/// Was the job in this state at some time of the window?
bool was(const Sacct& run, const AccountingRecord& job, const std::string& state) {
    const bool not_before = ms(job.ended) == 0 || ms(job.ended) >= run.from_ms;
    if (state == "RUNNING")
        return ms(job.started) > 0 && ms(job.started) <= run.to_ms && not_before;
    if (state == "PENDING") {
        return ms(job.submitted) <= run.to_ms && not_before &&
               (ms(job.started) == 0 || ms(job.started) >= run.from_ms);
    }
    const bool in_window = ms(job.ended) >= run.from_ms && ms(job.ended) <= run.to_ms;
    const std::string words[] = {state};
    return slurm::sacct_has_state(job, words) && (ms(job.ended) == 0 || in_window);
}

bool wants_job(const Sacct& run, const AccountingRecord& job) {
    const auto passes = [](const std::vector<std::string>& list, const std::string& value) {
        return list.empty() || std::ranges::find(list, value) != list.end();
    };
    if (!passes(run.options.qos, job.qos) || !passes(run.options.names, job.name)) return false;
    return run.states.empty() || std::ranges::any_of(run.states, [&](const std::string& state) {
               return was(run, job, state);
           });
}

bool wants_row(const Sacct& run, const AccountingRecord& record) {
    return run.wanted.empty() || std::ranges::any_of(run.wanted, [&](const Wanted& wanted) {
               return wanted.job == record.job.value() &&
                      (!wanted.step || *wanted.step == record.step);
           });
}

/// Prints rows as they come: a job, then its steps.
class Printer {
  public:
    explicit Printer(const Sacct& run) : run_(run), context_(text_context(run.environment)) {
        if (!run.options.no_header) slurm::append_sacct_header(text_, run.layout);
    }

    void row(AccountingRecord record) {
        if (record.step == -1) {
            shown_ = wants_job(run_, record);
            job_ = std::move(record);
            if (shown_) print(*job_, nullptr);
            return;
        }
        const bool of_job =
            job_ && job_->workload == record.workload && job_->attempt == record.attempt;
        if (of_job ? shown_ : wants_job(run_, record)) print(record, of_job ? &*job_ : nullptr);
    }
    void finish() { run_.output.out(text_); }

  private:
    void print(const AccountingRecord& record, const AccountingRecord* job) {
        if (!wants_row(run_, record)) return;
        slurm::append_sacct_row(text_, run_.layout, record, job, context_);
        if (text_.size() > kPartBytes) run_.output.out(std::exchange(text_, {}));
    }

    const Sacct& run_;
    slurm::TextContext context_;
    std::string text_;
    std::optional<AccountingRecord> job_;
    bool shown_ = false;
};

ExitCode print_history(Sacct& run) {
    Printer printer(run);
    if (!run.matches_nothing) {
        const Status listed = run.cluster.list_history(
            run.query, [&](AccountingRecord record) { printer.row(std::move(record)); });
        if (!listed) {
            run.output.error("Problem talking to the database: " + listed.error().message());
            return kFailed;
        }
    }
    printer.finish();
    return kOk;
}

}  // namespace

ExitCode run_sacct(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    SacctOptions options;
    if (const auto exit = read_variables(sacct_table(), environment, &options, output))
        return *exit;
    const ParsedArgs parsed = read_options(sacct_table(), args, &options, output);
    if (parsed.exit) return *parsed.exit;
    if (!parsed.positional.empty()) {
        output.err("Unknown arguments:\n");
        for (const std::string_view word : parsed.positional)
            output.err(" " + printable(word, 60) + "\n");
        return kFailed;
    }
    if (options.help_format) {
        output.out(slurm::sacct_help_format());
        return kOk;
    }
    Sacct run{.options = options,
              .environment = environment,
              .cluster = cluster,
              .output = output,
              .layout = {},
              .query = {}};
    // Steps have names of their own: with them, names are looked at here, on the jobs.
    if (options.allocations) run.query.names = options.names;
    run.query.partitions = options.partitions;
    run.query.queues = options.accounts;
    run.query.with_steps = !options.allocations;
    run.query.all_attempts = options.duplicates;
    const bool valid = set_layout(run) && set_jobs(run) && set_users(run) && set_states(run) &&
                       set_window(run) && set_clusters(run);
    return valid ? print_history(run) : kFailed;
}

}  // namespace twinyard::cli
