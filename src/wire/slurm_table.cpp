#include "wire/messages.h"
#include "wire/slurm_fields.h"

namespace twinyard::wire {

WIRE_INSTANTIATE(api::JobRequest);
WIRE_INSTANTIATE(api::JobSubmitted);
WIRE_INSTANTIATE(api::JobQuery);
WIRE_INSTANTIATE(api::JobRow::Grant);
WIRE_INSTANTIATE(api::JobRow);
WIRE_INSTANTIATE(api::NodeQuery);
WIRE_INSTANTIATE(api::NodeRow);
WIRE_INSTANTIATE(api::PartitionQuery);
WIRE_INSTANTIATE(api::PartitionRow);
WIRE_INSTANTIATE(api::JobTargets);
WIRE_INSTANTIATE(api::CancelRequest);
WIRE_INSTANTIATE(api::TargetsAnswer::Entry);
WIRE_INSTANTIATE(api::TargetsAnswer);
WIRE_INSTANTIATE(api::JobActionRequest);
WIRE_INSTANTIATE(api::UpdateRequest);
WIRE_INSTANTIATE(api::ControllerInfo);
WIRE_INSTANTIATE(api::StepRequest);
WIRE_INSTANTIATE(api::StepLaunch);
WIRE_INSTANTIATE(api::StepEvent);

void list_slurm_numbers(std::string& out) {
    list_numbers<api::JobRequest>(out);
    list_numbers<api::JobSubmitted>(out);
    list_numbers<api::JobQuery>(out);
    list_numbers<api::JobRow::Grant>(out);
    list_numbers<api::JobRow>(out);
    list_numbers<api::NodeQuery>(out);
    list_numbers<api::NodeRow>(out);
    list_numbers<api::PartitionQuery>(out);
    list_numbers<api::PartitionRow>(out);
    list_numbers<api::JobTargets>(out);
    list_numbers<api::CancelRequest>(out);
    list_numbers<api::TargetsAnswer::Entry>(out);
    list_numbers<api::TargetsAnswer>(out);
    list_numbers<api::JobActionRequest>(out);
    list_numbers<api::UpdateRequest>(out);
    list_numbers<api::ControllerInfo>(out);
    list_numbers<api::StepRequest>(out);
    list_numbers<api::StepLaunch>(out);
    list_numbers<api::StepEvent>(out);
}

}  // namespace twinyard::wire
