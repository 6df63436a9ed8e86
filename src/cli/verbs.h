#pragma once

#include <string_view>

#include "cli/commands.h"

namespace twinyard::cli {

/// `twinyard explain JOB`: what it waits for, who is ahead, when it is expected to start.
ExitCode run_explain(Args args, const Environment&, Cluster&, Output&);

/// A verb that is an executable of its own in libexec beside the folder of this one. Returns only
/// when it cannot be executed.
ExitCode run_other_executable(std::string_view verb, Args args, Output&);

}  // namespace twinyard::cli
