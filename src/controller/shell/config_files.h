#pragma once

#include <string>

#include "controller/shell/context.h"

namespace twinyard::controller {

/// The configuration from files, read anew each time: `slurm_conf` (empty: none) and `yaml` (may
/// not exist). `nodes` (a folded list) are the names that a cluster without slurm.conf is known to
/// have: they get their order from here, not from which agent comes first.
[[nodiscard]] ConfigSource config_files(std::string slurm_conf,
                                        std::string yaml,
                                        const std::string& nodes = {});

}  // namespace twinyard::controller
