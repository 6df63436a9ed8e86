// srun, first part: one step inside a job, run by the job's step daemon.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/srun_options.h"
#include "cli/step_run.h"

namespace twinyard::cli {

namespace {

/// SLURM_EXIT_ERROR: what srun's own failures end with.
ExitCode own_failure(const Environment& environment) {
    const auto text = environment.get("SLURM_EXIT_ERROR");
    const auto code = parse_number<int>(text.value_or(""), 0, 255);
    return code ? *code : kFailed;
}

void print_request(const SrunOptions& options, Output& output) {
    if (options.verbose == 0) return;
    const api::StepRequest& step = options.step;
    output.note("executable: " + step.argv.front());
    output.note("working directory: " + step.work_dir);
    output.note("tasks: " + (step.ntasks ? std::to_string(*step.ntasks) : "as the job has"));
}

}  // namespace

ExitCode run_srun(Args args, const Environment& environment, Cluster&, Output& output) {
    const SrunCommand command = read_srun(args, environment, output);
    if (command.exit) return *command.exit;
    const SrunOptions& options = command.options;
    const std::string job(environment.get("SLURM_JOB_ID").value_or(""));
    const std::string socket(environment.get("TWINYARD_STEPD_SOCKET").value_or(""));
    const bool in_job = !job.empty() && !socket.empty();
    if (!in_job || options.job.value_or(job) != job) {
        output.error(
            in_job ? "steps of another job are not built yet in this version of Twinyard"
                   : "allocations by srun are not built yet in this version of Twinyard: use it "
                     "in a batch script");
        return own_failure(environment);
    }
    print_request(options, output);
    auto stream = open_step_stream(socket);
    if (!stream) {
        output.error("Unable to contact the step daemon of job " + job + ": " +
                     stream.error().message());
        return own_failure(environment);
    }
    const StepView view{.job = job,
                        .send_input = options.step.std_in.empty(),
                        .quiet = options.quiet,
                        .quit_on_interrupt = options.quit_on_interrupt,
                        .own_failure = own_failure(environment)};
    return run_step(**stream, options.step, view, environment, output);
}

}  // namespace twinyard::cli
