#pragma once

#include <optional>
#include <string>

#include "api/step.h"
#include "cli/environment.h"
#include "cli/option_table.h"

namespace twinyard::cli {

/// What srun's options say, as far as they concern a step inside a job.
struct SrunOptions {
    explicit SrunOptions(const Environment& with) : environment(with) {}

    const Environment& environment;
    api::StepRequest step;
    std::string input;  ///< As written; empty: all.
    std::optional<std::string> export_env, job;
    bool quiet = false, quit_on_interrupt = false;
    std::uint32_t verbose = 0;
};

/// Options of the job's variables and the command line, and the words of the command.
struct SrunCommand {
    SrunOptions options;
    std::optional<ExitCode> exit;  ///< It is over.
};
[[nodiscard]] SrunCommand read_srun(Args args, const Environment& environment, Output& output);

}  // namespace twinyard::cli
