#include "wire/agent_fields.h"
#include "wire/messages.h"

namespace twinyard::wire {

WIRE_INSTANTIATE(api::LaunchKey);
WIRE_INSTANTIATE(api::NodeHello);
WIRE_INSTANTIATE(api::AgentHello);
WIRE_INSTANTIATE(api::GangFacts);
WIRE_INSTANTIATE(api::LaunchOrder);
WIRE_INSTANTIATE(api::DesiredRun);
WIRE_INSTANTIATE(api::SignalOrder);
WIRE_INSTANTIATE(api::NodeOrders);
WIRE_INSTANTIATE(api::AgentOrders);
WIRE_INSTANTIATE(api::Usage);
WIRE_INSTANTIATE(api::ObservedRun);
WIRE_INSTANTIATE(api::StepRecord);
WIRE_INSTANTIATE(api::NodeReport);
WIRE_INSTANTIATE(api::AgentReport);
WIRE_INSTANTIATE(api::AccountingRecord);
WIRE_INSTANTIATE(api::AccountingQuery);
WIRE_INSTANTIATE(api::Counters);

void list_agent_numbers(std::string& out) {
    list_numbers<api::LaunchKey>(out);
    list_numbers<api::NodeHello>(out);
    list_numbers<api::AgentHello>(out);
    list_numbers<api::GangFacts>(out);
    list_numbers<api::LaunchOrder>(out);
    list_numbers<api::DesiredRun>(out);
    list_numbers<api::SignalOrder>(out);
    list_numbers<api::NodeOrders>(out);
    list_numbers<api::AgentOrders>(out);
    list_numbers<api::Usage>(out);
    list_numbers<api::ObservedRun>(out);
    list_numbers<api::StepRecord>(out);
    list_numbers<api::NodeReport>(out);
    list_numbers<api::AgentReport>(out);
    list_numbers<api::AccountingRecord>(out);
    list_numbers<api::AccountingQuery>(out);
    list_numbers<api::Counters>(out);
}

}  // namespace twinyard::wire
