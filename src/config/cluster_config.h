#pragma once

#include "config/slurm_conf.h"
#include "config/twinyard_yaml.h"
#include "model/cluster_config.h"

namespace twinyard::config {

/// What a slurm.conf means to the model. Nodes are in the order of the file; unset limits are
/// Slurm's. QOS are `normal`, those that partitions name and those of the yaml.
[[nodiscard]] model::ClusterConfig cluster_config(const SlurmConf& conf, const TwinyardYaml& yaml);

/// Without a slurm.conf: nodes join by themselves, one partition `main` has them all, a million
/// jobs.
[[nodiscard]] model::ClusterConfig cluster_config(const TwinyardYaml& yaml);

}  // namespace twinyard::config
