#pragma once

#include <string>
#include <vector>

#include "api/command.h"
#include "api/principal.h"
#include "api/slurm.h"
#include "base/duration_text.h"
#include "base/result.h"
#include "model/snapshot.h"
#include "model/workload.h"

namespace twinyard::slurm {

/// What a job request means. The spec names its script and environment by hash; `blobs` are their
/// bytes.
struct Translated {
    model::WorkloadSpec spec;
    model::Hold hold = model::Hold::None;
    std::vector<api::Blob> blobs;
    std::vector<std::string> warnings;  ///< Lines for the client's stderr.
};

/// Checks a request against configuration and nodes, and says what it asks for in the model's
/// words. Pure; any thread. Errors have Slurm's text; one with two lines is printed as two.
[[nodiscard]] Result<Translated> translate(const api::JobRequest& request,
                                           const model::ClusterConfig& config,
                                           const model::Snapshot& snapshot,
                                           const api::Principal& principal);

/// How a spec says "no limit" where the partition would have one: so long that it never comes.
inline constexpr Millis kNoTimeLimit{kTimeLimitMax};

/// The heart of translate(): request → TaskGroup, without looking at nodes or partitions beyond
/// the defaults that `partition` (may be null) and `config` give. Errors: InvalidGres,
/// InvalidFeature, InvalidNodeName, InvalidNodeCount, InvalidTaskCount.
[[nodiscard]] Result<model::TaskGroup> task_group_of(const api::JobRequest& request,
                                                     const model::ClusterConfig& config,
                                                     const model::Partition* partition);

/// Could `group` ever start on the nodes of `partition`, all of them idle? An answer with Slurm's
/// words if not even one node could serve (ConfigNotAvailable with its line before); more nodes
/// than there are is no error.
[[nodiscard]] Status check_possible(const model::TaskGroup& group,
                                    const model::Partition& partition,
                                    const model::Snapshot& snapshot);

/// "gpu:h100:8", "gpu:8", "gpu", "h100:8" (with `bare_gpu`, as in --gpus) and comma lists of them
/// as device requests, sorted, equal classes added up. "none" is empty. Error: InvalidGres.
[[nodiscard]] Result<std::vector<model::DeviceRequest>> parse_gres(std::string_view text,
                                                                   bool bare_gpu);

/// `a&b`, `a|b`, `[a|b]`, `!`-free feature expressions as terms. Error: InvalidFeature, also for
/// what Slurm has and this engine has not (counts, XAND).
struct Constraint {
    std::vector<model::NodeTerm> any_of;
    bool same_alternative = false;
};
[[nodiscard]] Result<Constraint> parse_constraint(std::string_view text);

}  // namespace twinyard::slurm
