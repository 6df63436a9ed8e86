#include "slurm/errors.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace twinyard::slurm {

namespace {

struct Row {
    Refusal refusal;
    ErrorCode code;
    std::string_view text;
};

using enum ErrorCode;

// In the order of the enum. The texts are Slurm's own: scripts and workflow tools match them.
constexpr auto kRows = std::to_array<Row>({
    {Refusal::InvalidPartition, InvalidArgument, "Invalid partition name specified"},
    {Refusal::InvalidQos, InvalidArgument, "Invalid qos specification"},
    {Refusal::InvalidAccount,
     InvalidArgument,
     "Invalid account or account/partition combination specified"},
    {Refusal::InvalidNodeName, InvalidArgument, "Invalid node name specified"},
    {Refusal::InvalidNodeCount, InvalidArgument, "Node count specification invalid"},
    {Refusal::InvalidGres, InvalidArgument, "Invalid generic resource (gres) specification"},
    {Refusal::InvalidFeature, InvalidArgument, "Invalid feature specification"},
    {Refusal::InvalidTimeLimit,
     InvalidArgument,
     "Requested time limit is invalid (missing or exceeds some limit)"},
    {Refusal::InvalidTimeMin,
     InvalidArgument,
     "Invalid time-min specification (exceeds job's time or other limits)"},
    {Refusal::InvalidCpuCount, InvalidArgument, "CPU count specification invalid"},
    {Refusal::InvalidTaskCount, InvalidArgument, "Task count specification invalid"},
    {Refusal::InvalidTaskMemory, InvalidArgument, "Memory required by task is not available"},
    {Refusal::InvalidTresCount, InvalidArgument, "Invalid Trackable RESource (TRES) specification"},
    {Refusal::InvalidJobId, NotFound, "Invalid job id specified"},
    {Refusal::InvalidUserId, Denied, "Invalid user id"},
    {Refusal::InvalidNodeState, InvalidArgument, "Invalid node state specified"},
    {Refusal::TooManyCpus, InvalidArgument, "More processors requested than permitted"},
    {Refusal::NodesNotAvailable,
     InvalidArgument,
     "Required node not available (down, drained or reserved)"},
    {Refusal::NodesNotInPartition, InvalidArgument, "Requested nodes not in this partition"},
    {Refusal::ConfigNotAvailable, InvalidArgument, "Requested node configuration is not available"},
    {Refusal::PartitionNotAvailable,
     InvalidArgument,
     "Required partition not available (inactive or drain)"},
    {Refusal::NoDefaultPartition,
     InvalidArgument,
     "No partition specified or system default partition"},
    {Refusal::AccessDenied, Denied, "Access/permission denied"},
    {Refusal::JobPending, Conflict, "Job is pending execution"},
    {Refusal::JobNotPending, Conflict, "Job is no longer pending execution"},
    {Refusal::JobNotRunning, Conflict, "Job is not pending nor running"},
    {Refusal::JobFinished, Conflict, "Job/step already completing or completed"},
    {Refusal::Dependency, InvalidArgument, "Job dependency problem"},
    {Refusal::PathTooLong,
     InvalidArgument,
     "Pathname of a file, directory or other parameter too long"},
    {Refusal::ScriptEmpty, InvalidArgument, "Batch script is empty!"},
    {Refusal::JobCountReached,
     Unavailable,
     "Slurm temporarily unable to accept job, sleeping and retrying"},
    {Refusal::TryAgain, Unavailable, "Unable to create job record, try again"},
    {Refusal::Disabled, Denied, "Requested operation is presently disabled"},
    {Refusal::NotSupported, InvalidArgument, "Requested operation not supported on this system"},
    {Refusal::ConnectFailure, Unavailable, "Unable to contact slurm controller (connect failure)"},
    {Refusal::SocketTimeout, Unavailable, "Socket timed out on send/recv operation"},
});

const Row& row_of(Refusal refusal) {
    const auto at = static_cast<std::size_t>(refusal);
    CHECK(at < kRows.size() && kRows[at].refusal == refusal);
    return kRows[at];
}

}  // namespace

std::string_view text_of(Refusal refusal) {
    return row_of(refusal).text;
}

ErrorCode code_of(Refusal refusal) {
    return row_of(refusal).code;
}

std::unexpected<Error> refuse(Refusal refusal, std::string_view line_before) {
    std::string text(line_before);
    if (!text.empty()) text += '\n';
    text += text_of(refusal);
    return fail(code_of(refusal), std::move(text));
}

}  // namespace twinyard::slurm
