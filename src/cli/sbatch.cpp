// sbatch: options → script → request → answer. What a script's #SBATCH lines say counts least, then
// the environment, then the command line.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "slurm/batch_script.h"
#include "slurm/environment.h"
#include "slurm/errors.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

constexpr int kSubmitTriesMax = 15;
constexpr Millis kRetryFirst{1000};
constexpr Millis kPollFirst{50};
constexpr Millis kPollMax{2000};
constexpr int kPollFailuresMax = 6;

struct Script {
    std::string text;
    std::string path;  ///< Absolute; empty: stdin or --wrap.
};

bool is_file(const std::string& path) {
    struct stat entry {};
    return ::stat(path.c_str(), &entry) == 0;
}

/// A name without a slash is looked for here first, then along PATH.
std::string locate(std::string_view name, const Environment& environment) {
    if (name.starts_with('/')) return std::string(name);
    std::string here = environment.work_dir + "/" + std::string(name);
    if (name.find('/') != std::string_view::npos || is_file(here)) return here;
    for (const std::string_view folder : split(environment.get("PATH").value_or(""), ':')) {
        std::string there = std::string(folder) + "/" + std::string(name);
        if (!folder.empty() && is_file(there)) return there;
    }
    return here;
}

Result<Script> read_script(const JobOptions& options,
                           const std::vector<std::string_view>& positional,
                           const Environment& environment) {
    Script script;
    if (options.wrap) {
        if (!positional.empty()) {
            return fail(ErrorCode::InvalidArgument,
                        "Script arguments not permitted with --wrap option");
        }
        script.text = slurm::wrap_script(*options.wrap);
        return script;
    }
    if (!positional.empty()) script.path = locate(positional.front(), environment);
    auto text = environment.read_file(script.path.empty() ? "-" : script.path, slurm::kScriptMax);
    if (!text) {
        const std::string_view name = positional.empty() ? "stdin" : positional.front();
        return fail(ErrorCode::NotFound, "Unable to open file " + printable(name));
    }
    script.text = std::move(*text);
    if (script.text.size() > slurm::kScriptMax) {
        return fail(ErrorCode::InvalidArgument,
                    "Batch job submission failed: " +
                        std::string(slurm::text_of(slurm::Refusal::PathTooLong)));
    }
    TRY_STATUS(slurm::check_batch_script(script.text));
    return script;
}

/// Reads the `#SBATCH` lines into `options`.
std::optional<ExitCode> read_directives(std::string_view script,
                                        JobOptions& options,
                                        Output& output) {
    const auto directives = slurm::batch_directives(script);
    if (!directives) {
        output.error(directives.error().message());
        return kFailed;
    }
    for (const slurm::Directive& directive : *directives) {
        const std::vector<std::string_view> args(directive.arguments.begin(),
                                                 directive.arguments.end());
        const ParsedArgs parsed = read_options(sbatch_table(), args, &options, output);
        if (parsed.exit) return parsed.exit;
    }
    return std::nullopt;
}

std::optional<ExitCode> end_source(JobOptions& options, Output& output) {
    const Status status = options.check_source();
    options.begin_source();
    if (status) return std::nullopt;
    output.note("fatal: " + status.error().message());
    return kFailed;
}

/// Script, environment and command line, the later ones over the earlier.
std::optional<ExitCode> read_sources(const Script& script, Args args, JobOptions& options) {
    Output& output = options.output;
    if (const auto exit = read_directives(script.text, options, output)) return exit;
    if (const auto exit = end_source(options, output)) return exit;
    const auto variables = read_variables(sbatch_table(), options.environment, &options, output);
    if (variables) return variables;
    if (const auto exit = end_source(options, output)) return exit;
    const ParsedArgs parsed = read_options(sbatch_table(), args, &options, output);
    if (parsed.exit) return parsed.exit;
    return end_source(options, output);
}

/// What the script shall find: after --export, without what belongs to the job that we are in, with
/// where it was submitted from.
std::vector<std::string> exported(const std::optional<std::string>& option,
                                  const Environment& environment) {
    std::vector<std::string> variables;
    if (!option || !equal_nocase(*option, "NIL"))
        variables = slurm::apply_export(option.value_or("ALL"), environment.variables);
    std::erase_if(variables, [](const std::string& variable) {
        return variable.starts_with("SLURM_SUBMIT_DIR=") ||
               variable.starts_with("TWINYARD_STEP_SECRET=") ||
               variable.starts_with("TWINYARD_STEPD_SOCKET=");
    });
    variables.push_back("SLURM_SUBMIT_DIR=" + environment.work_dir);
    return variables;
}

Result<api::JobRequest> make_request(JobOptions& options,
                                     Script script,
                                     const std::vector<std::string_view>& positional) {
    const Environment& environment = options.environment;
    api::JobRequest request = std::move(options.job);
    request.request_id = environment.new_request_id();
    request.uid = environment.uid;
    request.gid = environment.gid;
    request.script = std::move(script.text);
    request.command = std::move(script.path);
    if (!positional.empty()) request.script_args.assign(positional.begin() + 1, positional.end());
    if (request.name.empty() && options.wrap) request.name = "wrap";
    request.work_dir = options.chdir.empty() ? environment.work_dir : options.chdir;
    if (!request.work_dir.starts_with('/'))
        request.work_dir = environment.work_dir + "/" + request.work_dir;
    request.environment = exported(request.export_env, environment);
    request.umask = environment.umask;
    TRY(request.limits, propagated_limits(environment.limits, options.propagate.value_or("ALL")));
    request.submit_host = environment.host_name;
    request.submit_line = environment.command_line;
    return request;
}

/// Tries again while the controller says so, or may have the job without our knowing: the request
/// id keeps it from having two.
Result<api::JobSubmitted> submit(Cluster& cluster,
                                 const api::JobRequest& request,
                                 const JobOptions& options) {
    const std::string_view connect_failure = slurm::text_of(slurm::Refusal::ConnectFailure);
    const std::string_view no_reply = slurm::text_of(slurm::Refusal::SocketTimeout);
    bool may_have_it = false;
    for (int tries = 1;; ++tries) {
        Result<api::JobSubmitted> answer = cluster.submit(request);
        if (answer || tries == kSubmitTriesMax) return answer;
        const Error& error = answer.error();
        may_have_it |= error.message() == no_reply;
        // A refusal is the end of it, unless the job of an earlier try may still be stored.
        const bool open = error.code() == ErrorCode::Unavailable ||
                          (may_have_it && error.code() == ErrorCode::Conflict);
        if (!open || error.message() == connect_failure) return answer;
        if (tries == 1)
            options.output.note("Slurm temporarily unable to accept job, sleeping and retrying");
        options.environment.sleep(kRetryFirst * tries);
    }
}

/// The last line says what failed, those before it why.
void print_failure(Output& output, std::string_view what, const std::string& text) {
    const std::size_t last = text.rfind('\n');
    if (last != std::string::npos) output.error(std::string_view(text).substr(0, last));
    const std::string_view end =
        std::string_view(text).substr(last == std::string::npos ? 0 : last + 1);
    output.error(std::string(what) + ": " + std::string(end));
}

ExitCode print_test(const api::JobSubmitted& answer, const JobOptions& options) {
    Output& output = options.output;
    if (!answer.expected_start_unix_ms) {
        output.error("allocation failure: no start of this job can be foreseen");
        return kFailed;
    }
    const std::string when =
        slurm::date_text(options.environment.calendar, *answer.expected_start_unix_ms, "Unknown");
    output.note("Job " + std::to_string(answer.job) + " to start at " + when + " using " +
                std::to_string(answer.expected_cpus) + " processors on nodes " +
                answer.expected_nodes + " in partition " + answer.partition);
    return kOk;
}

/// The job's own code once it has ended; 1 if a signal, a time limit … ended it.
ExitCode exit_code_of(const api::JobRow& job) {
    if (job.exit_signal != 0) return kFailed;
    if (job.exit_code != 0) return job.exit_code;
    return job.base_state == "COMPLETED" ? kOk : kFailed;
}

ExitCode wait_for(Cluster& cluster, std::uint32_t job, const JobOptions& options) {
    Millis pause = kPollFirst;
    int failures = 0;
    while (failures < kPollFailuresMax) {
        options.environment.sleep(pause);
        pause = std::min(pause * 2, kPollMax);
        const auto rows = rows_of<api::JobRow>(
            cluster, &Cluster::list_jobs, api::JobQuery{.jobs = {job}, .all_states = true});
        if (!rows) {
            ++failures;
            continue;
        }
        failures = 0;
        if (rows->empty()) {
            options.output.error("Job " + std::to_string(job) + " is no longer known");
            return kFailed;
        }
        if (slurm::is_finished_state(rows->front().state)) return exit_code_of(rows->front());
    }
    options.output.error("Unable to follow job " + std::to_string(job) + ": " +
                         std::string(slurm::text_of(slurm::Refusal::ConnectFailure)));
    return kFailed;
}

void print_request(const api::JobRequest& request, const JobOptions& options) {
    if (options.verbose == 0 || options.quiet) return;
    options.output.note(
        "script: " + (request.command.empty() ? std::string("(none)") : request.command) + ", " +
        std::to_string(request.script.size()) + " bytes");
    options.output.note("working directory: " + request.work_dir);
    options.output.note("variables exported: " + std::to_string(request.environment.size()));
}

}  // namespace

ExitCode run_sbatch(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    // The command line is read twice: it names the script whose lines it then overrules.
    JobOptions on_line(environment, output);
    const ParsedArgs parsed = read_options(sbatch_table(), args, &on_line, output);
    if (parsed.exit) return *parsed.exit;
    Result<Script> script = read_script(on_line, parsed.positional, environment);
    if (!script) {
        output.error(script.error().message());
        return kFailed;
    }
    JobOptions options(environment, output);
    if (const auto exit = read_sources(*script, args, options)) return *exit;
    auto request = make_request(options, std::move(*script), parsed.positional);
    if (!request) {
        output.error(request.error().message());
        return kFailed;
    }
    print_request(*request, options);
    const auto answer = submit(cluster, *request, options);
    if (!answer) {
        const char* what =
            request->test_only ? "allocation failure" : "Batch job submission failed";
        print_failure(output, what, answer.error().message());
        return kFailed;
    }
    if (!answer->message.empty() && !options.quiet) output.note(answer->message);
    if (request->test_only) return print_test(*answer, options);
    const std::string number = std::to_string(answer->job);
    if (options.parsable) {
        output.out(number + "\n");
    } else if (!options.quiet) {
        output.out("Submitted batch job " + number + "\n");
    }
    output.flush();
    return options.wait ? wait_for(cluster, answer->job, options) : kOk;
}

}  // namespace twinyard::cli
