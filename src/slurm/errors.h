#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace twinyard::slurm {

/// The refusals of Slurm's table of errors that our doors use. Clients and tools compare the texts.
enum class Refusal : std::uint8_t {
    InvalidPartition,
    InvalidQos,
    InvalidAccount,
    InvalidNodeName,
    InvalidNodeCount,
    InvalidGres,
    InvalidFeature,
    InvalidTimeLimit,
    InvalidTimeMin,
    InvalidCpuCount,
    InvalidTaskCount,
    InvalidTaskMemory,
    InvalidTresCount,
    InvalidJobId,
    InvalidUserId,
    InvalidNodeState,
    TooManyCpus,
    NodesNotAvailable,
    NodesNotInPartition,
    ConfigNotAvailable,
    PartitionNotAvailable,
    NoDefaultPartition,
    AccessDenied,
    JobPending,
    JobNotPending,
    JobNotRunning,
    JobFinished,
    Dependency,
    PathTooLong,
    ScriptEmpty,
    JobCountReached,
    TryAgain,
    Disabled,
    NotSupported,
    ConnectFailure,
    SocketTimeout,
};

/// What Slurm's clients print for it, without the command's name before it.
[[nodiscard]] std::string_view text_of(Refusal refusal);

/// What a caller may do about it.
[[nodiscard]] ErrorCode code_of(Refusal refusal);

/// fail() with the refusal's text. `line_before` is printed by the client as a line of its own
/// ("CPU count per node can not be satisfied"); the message then has two lines.
[[nodiscard]] std::unexpected<Error> refuse(Refusal refusal, std::string_view line_before = {});

}  // namespace twinyard::slurm
