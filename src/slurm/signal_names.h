#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/launch.h"

namespace twinyard::slurm {

/// 9, "KILL", "SIGKILL", "kill"; none for what is no signal.
[[nodiscard]] std::optional<std::int32_t> signal_number(std::string_view text);

/// "KILL"; the number for one without a name.
[[nodiscard]] std::string signal_name(std::int32_t number);

/// "Killed", "Terminated": what strsignal(3) says in English, whatever the locale.
[[nodiscard]] std::string signal_description(std::int32_t number);

/// `--signal=[{R|B}:]SIG[@seconds]`; 60 seconds without `@`. R (send when a reservation comes) is
/// refused as not built. InvalidArgument: `Invalid --signal specification`.
[[nodiscard]] Result<model::EndWarning> parse_signal_option(std::string_view text);

}  // namespace twinyard::slurm
