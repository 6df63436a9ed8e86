#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/slurm.h"
#include "model/cluster_config.h"
#include "model/plan.h"
#include "model/workload.h"

namespace twinyard::slurm {

/// "PENDING", "COMPLETING" …: with the flag shown instead of the base state where there is one.
[[nodiscard]] std::string_view job_state(const model::Workload& workload);
/// Without flags: what it is, or (completing) what it will be.
[[nodiscard]] std::string_view base_state(const model::Workload& workload);
/// The state that a way to end gives.
[[nodiscard]] std::string_view end_state(model::EndKind kind);
/// "PD" for "PENDING"; unknown words come back as they are.
[[nodiscard]] std::string_view compact_state(std::string_view long_word);
/// A long word or compact code in any case, as the long word; none if there is no such state.
[[nodiscard]] std::optional<std::string_view> parse_job_state(std::string_view text);
/// Is it over (COMPLETED, FAILED, CANCELLED …)?
[[nodiscard]] bool is_finished_state(std::string_view long_word);

/// Why something waits, in Slurm's word.
[[nodiscard]] std::string_view wait_reason(model::Wait wait);
/// The reason column: hold and wait of pending jobs, how it ended of finished ones
/// ("NonZeroExitCode", "RaisedSignal:9(Killed)", "TimeLimit"), else "None". Verdict and config may
/// be null; the config tells a partition's limit on nodes from nodes that it does not have.
[[nodiscard]] std::string reason_of(const model::Workload& workload,
                                    const model::Verdict* verdict,
                                    const model::ClusterConfig* config);

/// "0:15"
[[nodiscard]] std::string exit_code_text(std::int32_t exit_code, std::int32_t signal);

/// scontrol's word: "MIXED+DRAIN", "DOWN+DRAIN+NOT_RESPONDING".
[[nodiscard]] std::string node_state_flags(const api::NodeRow& node);
/// sinfo's words: compact "drng*", long "draining*".
[[nodiscard]] std::string node_state_compact(const api::NodeRow& node);
[[nodiscard]] std::string node_state_long(const api::NodeRow& node);
/// Does the node match one of sinfo's state words (`-t idle,drain,down`)? Any case.
[[nodiscard]] bool node_has_state(const api::NodeRow& node, std::string_view word);
/// Is it a state word that sinfo knows?
[[nodiscard]] bool is_node_state(std::string_view word);

}  // namespace twinyard::slurm
