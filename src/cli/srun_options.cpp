#include "cli/srun_options.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "slurm/environment.h"

namespace twinyard::cli {

namespace {

using api::StepRequest;
using enum Argument;

template <auto Member>
Status step_text(SrunOptions& options, OptionValue value) {
    options.step.*Member = std::string(value.text);
    return {};
}
template <auto Member>
Status step_count(SrunOptions& options, OptionValue value) {
    return keep_count<Member>(&options.step, value);
}
template <auto Member>
Status step_flag(SrunOptions& options, OptionValue) {
    options.step.*Member = true;
    return {};
}

Status set_step_nodes(SrunOptions& options, OptionValue value) {
    TRY(const NodeRange range, parse_node_range(value.text));
    options.step.nodes_min = range.min;
    options.step.nodes_max = range.max;
    return {};
}

Status set_step_memory(SrunOptions& options, OptionValue value) {
    const auto megabytes = parse_megabytes(value.text);
    if (!megabytes) return bad_value(value);
    options.step.mem_per_node_mb = *megabytes;
    options.step.mem_per_cpu_mb.reset();
    return {};
}

Status set_step_memory_per_cpu(SrunOptions& options, OptionValue value) {
    const auto megabytes = parse_megabytes(value.text);
    if (!megabytes) return bad_value(value);
    options.step.mem_per_cpu_mb = *megabytes;
    options.step.mem_per_node_mb.reset();
    return {};
}

/// The same as --gres=gpu:…
Status set_gpus_per_node(SrunOptions& options, OptionValue value) {
    options.step.gres = "gpu:" + std::string(value.text);
    return {};
}

Status set_kill_on_bad_exit(SrunOptions& options, OptionValue value) {
    options.step.kill_on_bad_exit = !value.given || value.text.empty() || value.text != "0";
    return {};
}

Status set_mpi(SrunOptions&, OptionValue value) {
    if (value.text == "none") return {};
    return fail(
        ErrorCode::Conflict,
        "--mpi=" + printable(value.text, 60) + " is not built yet in this version of Twinyard");
}

Status set_output(SrunOptions& options, OptionValue value) {
    options.step.std_out = value.text == "none" ? "/dev/null" : std::string(value.text);
    if (value.text == "all") options.step.std_out.clear();
    return {};
}

Status set_error(SrunOptions& options, OptionValue value) {
    options.step.std_err = value.text == "none" ? "/dev/null" : std::string(value.text);
    if (value.text == "all") options.step.std_err.clear();
    return {};
}

Status set_input(SrunOptions& options, OptionValue value) {
    if (!value.text.empty() && value.text.find_first_not_of("0123456789") == value.text.npos) {
        return fail(ErrorCode::Conflict,
                    "--input=" + std::string(value.text) +
                        " (of one task) is not built yet in this version of Twinyard");
    }
    options.input = value.text;
    return {};
}

Status more_verbose(SrunOptions& options, OptionValue) {
    ++options.verbose;
    return {};
}

constexpr std::string_view kInRequest = "Srun.OptionsReachTheStep";
constexpr std::string_view kOfAllocations =
    "says what a job asks for; a step runs in the job that it is in";

constexpr OptionRow built(std::string_view names,
                          char letter,
                          Argument argument,
                          OptionSetter set,
                          std::string_view variable,
                          std::string_view help,
                          std::string_view value = {},
                          std::string_view test = kInRequest) {
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

// Variables of what is not built are not listed: the job itself sets many of them.
constexpr OptionRow kRows[] = {
    not_built("accel-bind"),
    no_effect("account", 'A', Required, kOfAllocations),
    not_built("acctg-freq"),
    not_built("async", 0, None),
    not_built("bb"),
    not_built("bbf"),
    not_built("bcast", 0, Optional),
    not_built("bcast-exclude"),
    not_built("begin", 'b'),
    built("chdir|workdir",
          'D',
          Required,
          call<&step_text<&StepRequest::work_dir>>,
          "SLURM_REMOTE_CWD",
          "working directory of the tasks",
          "directory"),
    not_built("cluster-constraint"),
    not_built("clusters|cluster", 'M'),
    no_effect("comment", 0, Required, kOfAllocations),
    not_built("compress", 0, Optional),
    not_built("consolidate-segments", 0, None),
    not_built("constraint", 'C'),
    not_built("container"),
    not_built("container-id"),
    not_built("contiguous", 0, None),
    not_built("core-spec", 'S'),
    not_built("cores-per-socket"),
    not_built("cpu-bind|cpu_bind"),
    not_built("cpu-freq"),
    not_built("cpus-per-gpu"),
    built("cpus-per-task",
          'c',
          Required,
          call<&step_count<&StepRequest::cpus_per_task>>,
          "SLURM_CPUS_PER_TASK",
          "cpus for each task",
          "n"),
    not_built("deadline"),
    not_built("delay-boot"),
    not_built("dependency", 'd'),
    not_built("disable-status", 'X', None),
    not_built("distribution", 'm'),
    not_built("epilog"),
    built("error",
          'e',
          Required,
          call<&set_error>,
          "SLURM_STDERRMODE",
          "file for the tasks' stderr",
          "pattern|none|all"),
    built("exact",
          0,
          None,
          call<&step_flag<&StepRequest::exact>>,
          "SLURM_EXACT",
          "take what is asked for and no more"),
    built("exclude",
          'x',
          Required,
          call<&step_text<&StepRequest::exclude>>,
          "",
          "nodes not to be used",
          "hosts"),
    built("exclusive",
          0,
          Optional,
          call<&step_flag<&StepRequest::exact>>,
          "",
          "as --exact: steps share nothing in any case"),
    built("export",
          0,
          Required,
          keep_text<&SrunOptions::export_env>,
          "SLURM_EXPORT_ENV",
          "variables that the tasks get",
          "ALL|NONE|list",
          "Srun.Export"),
    not_built("external-launcher", 0, Optional),
    not_built("extra"),
    not_built("extra-node-info", 'B'),
    not_built("gid"),
    not_built("gpu-bind"),
    not_built("gpu-freq"),
    built("gpus",
          'G',
          Required,
          call<&step_text<&StepRequest::gpus>>,
          "",
          "GPUs of the step",
          "[type:]n"),
    built("gpus-per-node",
          0,
          Required,
          call<&set_gpus_per_node>,
          "",
          "GPUs of each node",
          "[type:]n"),
    not_built("gpus-per-socket"),
    built("gpus-per-task",
          0,
          Required,
          call<&step_text<&StepRequest::gpus_per_task>>,
          "",
          "GPUs of each task",
          "[type:]n"),
    built("gres",
          0,
          Required,
          call<&step_text<&StepRequest::gres>>,
          "SLURM_STEP_GRES",
          "generic resources of each node",
          "gpu[:type]:n"),
    not_built("gres-flags"),
    {.names = "help", .letter = 'h', .state = OptionState::Help, .help = "show this message"},
    not_built("het-group"),
    not_built("hint"),
    not_built("hold", 'H', None),
    not_built("immediate", 'I', Optional),
    built("input",
          'i',
          Required,
          call<&set_input>,
          "SLURM_STDINMODE",
          "what the tasks read",
          "file|none|all",
          "Srun.Input"),
    built("job-name",
          'J',
          Required,
          call<&step_text<&StepRequest::name>>,
          "",
          "name of the step",
          "name"),
    built("jobid",
          0,
          Required,
          keep_text<&SrunOptions::job>,
          "",
          "the job that we are in",
          "id",
          "Srun.JobId"),
    built("kill-on-bad-exit",
          'K',
          Optional,
          call<&set_kill_on_bad_exit>,
          "SLURM_KILL_BAD_EXIT",
          "end the step when a task fails",
          "0|1"),
    built("label",
          'l',
          None,
          call<&step_flag<&StepRequest::label>>,
          "SLURM_LABELIO",
          "put the task's number before each line"),
    not_built("licenses", 'L'),
    not_built("mail-type"),
    not_built("mail-user"),
    not_built("mcs-label"),
    built("mem", 0, Required, call<&set_step_memory>, "", "memory of each node", "size[K|M|G|T]"),
    not_built("mem-bind|mem_bind"),
    built("mem-per-cpu",
          0,
          Required,
          call<&set_step_memory_per_cpu>,
          "",
          "memory for each cpu",
          "size[K|M|G|T]"),
    not_built("mem-per-gpu"),
    not_built("mem-update"),
    not_built("mincpus"),
    built("mpi", 0, Required, call<&set_mpi>, "SLURM_MPI_TYPE", "kind of MPI", "none", "Srun.Mpi"),
    not_built("msg-timeout"),
    not_built("multi-prog", 0, None),
    not_built("network"),
    not_built("nice", 0, Optional),
    not_built("no-allocate", 'Z', None),
    not_built("no-kill", 'k', Optional),
    not_built("nodefile", 'F'),
    built("nodelist",
          'w',
          Required,
          call<&step_text<&StepRequest::nodelist>>,
          "",
          "nodes that must be used",
          "hosts"),
    built("nodes", 'N', Required, call<&set_step_nodes>, "", "number of nodes", "min[-max]"),
    built("ntasks|tasks",
          'n',
          Required,
          call<&step_count<&StepRequest::ntasks>>,
          "",
          "number of tasks",
          "n"),
    not_built("ntasks-per-core"),
    not_built("ntasks-per-gpu"),
    built("ntasks-per-node|tasks-per-node",
          0,
          Required,
          call<&step_count<&StepRequest::ntasks_per_node>>,
          "",
          "tasks on each node",
          "n"),
    not_built("ntasks-per-socket"),
    not_built("oom-kill-step", 0, Optional),
    not_built("open-mode"),
    built("output",
          'o',
          Required,
          call<&set_output>,
          "SLURM_STDOUTMODE",
          "file for the tasks' stdout",
          "pattern|none|all"),
    not_built("overcommit", 'O', None),
    built("overlap",
          0,
          None,
          call<&step_flag<&StepRequest::overlap>>,
          "SLURM_OVERLAP",
          "share with other steps"),
    not_built("oversubscribe|share", 's', None),
    no_effect("partition", 'p', Required, kOfAllocations),
    not_built("power"),
    not_built("prefer"),
    not_built("preserve-env", 'E', None),
    not_built("priority"),
    not_built("profile"),
    not_built("prolog"),
    not_built("propagate", 0, Optional),
    not_built("pty", 0, Optional),
    no_effect("qos", 'q', Required, kOfAllocations),
    built("quiet",
          'Q',
          None,
          keep_flag<&SrunOptions::quiet>,
          "",
          "say nothing but errors",
          {},
          "Srun.WaitingStep"),
    built("quit-on-interrupt",
          0,
          None,
          keep_flag<&SrunOptions::quit_on_interrupt>,
          "",
          "pass the first Ctrl-C on",
          {},
          "Srun.Interrupt"),
    not_built("reboot", 0, None),
    not_built("relative", 'r'),
    not_built("reservation"),
    not_built("resources"),
    not_built("resv-ports", 0, Optional),
    not_built("runtime"),
    not_built("segment"),
    not_built("send-libs", 0, Optional),
    not_built("signal"),
    not_built("slurmd-debug"),
    not_built("sockets-per-node"),
    not_built("spread-job", 0, None),
    not_built("spread-segments", 0, None),
    not_built("stepmgr", 0, None),
    not_built("switches"),
    not_built("task-epilog"),
    not_built("task-prolog"),
    not_built("test-only", 0, None),
    not_built("thread-spec"),
    not_built("threads", 'T'),
    not_built("threads-per-core"),
    not_built("time", 't'),
    not_built("time-min"),
    not_built("tmp"),
    not_built("treewidth"),
    not_built("tres-bind"),
    not_built("tres-per-task"),
    not_built("uid"),
    built("unbuffered",
          'u',
          None,
          call<&step_flag<&StepRequest::unbuffered>>,
          "SLURM_UNBUFFEREDIO",
          "pass output on at once"),
    kUsageRow,
    not_built("use-min-nodes", 0, None),
    built("verbose", 'v', None, call<&more_verbose>, "", "say more on stderr", {}, "Srun.Verbose"),
    kVersionRow,
    not_built("wait", 'W'),
    not_built("wait-all-nodes"),
    not_built("wait-for-switch"),
    not_built("wckey"),
    not_built("x11", 0, Optional),
};

constexpr OptionTable kTable{.command = "srun",
                             .usage = "[OPTIONS...] executable [args...]",
                             .rows = kRows,
                             .stop_at_positional = true};

/// How many tasks, where the command line does not say: one a node of -N, else as many as the
/// job's variables have now, which the script may have changed.
void take_task_variables(SrunOptions& options) {
    StepRequest& step = options.step;
    if (step.ntasks || step.nodes_min || step.ntasks_per_node) return;
    const auto number = [&](const char* variable) -> std::optional<std::uint32_t> {
        const auto text = options.environment.get(variable);
        const auto value = parse_number<std::uint32_t>(text.value_or(""), 1);
        if (!value) return std::nullopt;
        return *value;
    };
    step.ntasks = number("SLURM_NTASKS");
    step.ntasks_per_node = number("SLURM_NTASKS_PER_NODE");
}

void finish(SrunOptions& options) {
    const Environment& environment = options.environment;
    StepRequest& step = options.step;
    take_task_variables(options);
    step.secret = environment.get("TWINYARD_STEP_SECRET").value_or("");
    step.environment =
        slurm::apply_export(options.export_env.value_or("ALL"), environment.variables);
    std::erase_if(step.environment, [](const std::string& variable) {
        return variable.starts_with("TWINYARD_STEP_SECRET=") ||
               variable.starts_with("TWINYARD_STEPD_SOCKET=");
    });
    if (step.work_dir.empty()) step.work_dir = environment.work_dir;
    if (!step.work_dir.starts_with('/')) step.work_dir = environment.work_dir + "/" + step.work_dir;
    if (step.name.empty()) {
        const std::string_view path = step.argv.front();
        step.name = path.substr(path.rfind('/') + 1);
    }
    const bool from_file = !options.input.empty() && options.input != "all";
    if (from_file) step.std_in = options.input == "none" ? "/dev/null" : options.input;
    step.umask = environment.umask;
    step.limits = environment.limits;
}

}  // namespace

const OptionTable& srun_table() {
    return kTable;
}

SrunCommand read_srun(Args args, const Environment& environment, Output& output) {
    SrunCommand command{.options = SrunOptions(environment), .exit = std::nullopt};
    command.exit = read_variables(kTable, environment, &command.options, output);
    if (command.exit) return command;
    const ParsedArgs parsed = read_options(kTable, args, &command.options, output);
    command.exit = parsed.exit;
    if (command.exit) return command;
    if (parsed.positional.empty()) {
        output.note("fatal: No command given to execute.");
        command.exit = kFailed;
        return command;
    }
    command.options.step.argv.assign(parsed.positional.begin(), parsed.positional.end());
    finish(command.options);
    return command;
}

}  // namespace twinyard::cli
