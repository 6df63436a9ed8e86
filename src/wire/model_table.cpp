#include "wire/messages.h"
#include "wire/model_fields.h"

namespace twinyard::wire {

WIRE_INSTANTIATE(model::DeviceRequest);
WIRE_INSTANTIATE(model::Resources);
WIRE_INSTANTIATE(model::Range);
WIRE_INSTANTIATE(model::LabelTest);
WIRE_INSTANTIATE(model::NodeTerm);
WIRE_INSTANTIATE(model::PreferredTerm);
WIRE_INSTANTIATE(model::Affinity);
WIRE_INSTANTIATE(model::Where);
WIRE_INSTANTIATE(model::Binding);
WIRE_INSTANTIATE(model::TakeAll);
WIRE_INSTANTIATE(model::TaskGroup);
WIRE_INSTANTIATE(model::EndWarning);
WIRE_INSTANTIATE(model::ProcessLimit);
WIRE_INSTANTIATE(model::LaunchSpec);
WIRE_INSTANTIATE(model::WorkloadSpec);
WIRE_INSTANTIATE(model::Outcome);
WIRE_INSTANTIATE(model::NodeGrant);
WIRE_INSTANTIATE(model::Placement);
WIRE_INSTANTIATE(model::MemberRun);
WIRE_INSTANTIATE(model::FencedGrant);
WIRE_INSTANTIATE(model::WorkloadStatus);
WIRE_INSTANTIATE(model::Device);
WIRE_INSTANTIATE(model::NodeCapacity);
WIRE_INSTANTIATE(model::NodeFacts);
WIRE_INSTANTIATE(model::Node);

void list_model_numbers(std::string& out) {
    list_numbers<model::DeviceRequest>(out);
    list_numbers<model::Resources>(out);
    list_numbers<model::Range>(out);
    list_numbers<model::LabelTest>(out);
    list_numbers<model::NodeTerm>(out);
    list_numbers<model::PreferredTerm>(out);
    list_numbers<model::Affinity>(out);
    list_numbers<model::Where>(out);
    list_numbers<model::Binding>(out);
    list_numbers<model::TakeAll>(out);
    list_numbers<model::TaskGroup>(out);
    list_numbers<model::EndWarning>(out);
    list_numbers<model::ProcessLimit>(out);
    list_numbers<model::LaunchSpec>(out);
    list_numbers<model::WorkloadSpec>(out);
    list_numbers<model::Outcome>(out);
    list_numbers<model::NodeGrant>(out);
    list_numbers<model::Placement>(out);
    list_numbers<model::MemberRun>(out);
    list_numbers<model::FencedGrant>(out);
    list_numbers<model::WorkloadStatus>(out);
    list_numbers<model::Device>(out);
    list_numbers<model::NodeCapacity>(out);
    list_numbers<model::NodeFacts>(out);
    list_numbers<model::Node>(out);
}

}  // namespace twinyard::wire
