#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/listing.h"

namespace twinyard::cli {

/// What scontrol's options said.
struct ScontrolOptions {
    bool all = false, detail = false, one_line = false, quiet = false;
};

/// One run of scontrol. Errors of Slurm's that have no "scontrol: error:" before them go through
/// err().
struct Scontrol {
    ScontrolOptions options;
    const Environment& environment;
    Cluster& cluster;
    Output& output;

    /// "TEXT\n" to stderr; kFailed.
    ExitCode err(const std::string& text) const {
        output.err(text + "\n");
        return kFailed;
    }
    ExitCode error(const std::string& text) const {
        output.error(text);
        return kFailed;
    }
    /// "suspend is not built yet in this version of Twinyard"
    ExitCode not_built(const std::string& what) const {
        return error(what + " is not built yet in this version of Twinyard");
    }
};

/// The words after the command's word. `keyword` is that word as written.
using ScontrolCommand = ExitCode (*)(Scontrol& run, std::string_view keyword, Args words);

ExitCode scontrol_show(Scontrol& run, std::string_view keyword, Args words);
ExitCode scontrol_update(Scontrol& run, std::string_view keyword, Args words);
/// hold, uhold, release, requeue, requeuehold.
ExitCode scontrol_act(Scontrol& run, std::string_view keyword, Args words);
ExitCode scontrol_write(Scontrol& run, std::string_view keyword, Args words);

/// `scontrol ping`, and what stands in for a host that the controller does not tell.
[[nodiscard]] api::ControllerInfo with_host(api::ControllerInfo info,
                                            const Environment& environment);

/// Slurm takes any beginning of a word, `min` letters at least, in any case.
[[nodiscard]] bool is_word(std::string_view text, std::string_view word, std::size_t min);

}  // namespace twinyard::cli
