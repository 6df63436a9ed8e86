#pragma once

#include "config/finding.h"
#include "config/slurm_conf.h"

namespace twinyard::config {

/// Looks at a configuration as a whole: names that are used must exist, values must agree, and
/// where we differ from Slurm is said. Fills in the node lists of partitions.
void validate(SlurmConf& conf, Findings& findings);

}  // namespace twinyard::config
