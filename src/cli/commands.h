#pragma once

#include <span>
#include <string_view>

#include "cli/cluster.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/option_table.h"
#include "cli/output.h"

namespace twinyard::cli {

/// What a command does: `args` without its name. Prints errors itself.
using RunCommand = ExitCode (*)(Args args,
                                const Environment& environment,
                                Cluster& cluster,
                                Output& output);

/// A command by its name. `run` is null while it is not built.
struct Command {
    std::string_view name;
    RunCommand run = nullptr;
    const OptionTable& (*table)() = nullptr;
};

/// All of Slurm's commands.
[[nodiscard]] std::span<const Command> commands();

ExitCode run_sbatch(Args args, const Environment&, Cluster&, Output&);
ExitCode run_scancel(Args args, const Environment&, Cluster&, Output&);
ExitCode run_srun(Args args, const Environment&, Cluster&, Output&);
ExitCode run_squeue(Args args, const Environment&, Cluster&, Output&);
ExitCode run_sinfo(Args args, const Environment&, Cluster&, Output&);
ExitCode run_sacct(Args args, const Environment&, Cluster&, Output&);
ExitCode run_scontrol(Args args, const Environment&, Cluster&, Output&);
/// `twinyard explain JOB`, and the verbs that are executables of their own.
ExitCode run_twinyard(Args args, const Environment&, Cluster&, Output&);

const OptionTable& sbatch_table();
const OptionTable& scancel_table();
const OptionTable& srun_table();
const OptionTable& squeue_table();
const OptionTable& sinfo_table();
const OptionTable& sacct_table();
const OptionTable& scontrol_table();

/// The whole program: the name in argv[0] decides; `twinyard sbatch …` works too.
ExitCode run_main(int argc, char** argv);

}  // namespace twinyard::cli
