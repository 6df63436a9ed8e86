#pragma once

#include <string>

#include "controller/shell/context.h"

namespace twinyard::controller {

/// The configuration from files, read anew each time: `slurm_conf` (empty: none) and `yaml` (may
/// not exist).
[[nodiscard]] ConfigSource config_files(std::string slurm_conf, std::string yaml);

}  // namespace twinyard::controller
