#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/core/transaction.h"

/// One function a command. Each decides first and changes then; an error means that nothing has
/// changed.
namespace twinyard::controller {

Result<api::Reply> handle(Transaction& tx, const api::Submit& command);
Result<api::Reply> handle(Transaction& tx, const api::Cancel& command);
Result<api::Reply> handle(Transaction& tx, const api::Signal& command);
Result<api::Reply> handle(Transaction& tx, const api::Update& command);
Result<api::Reply> handle(Transaction& tx, const api::SetHold& command);
Result<api::Reply> handle(Transaction& tx, const api::Requeue& command);
Result<api::Reply> handle(Transaction& tx, const api::UpdateNode& command);
Result<api::Reply> handle(Transaction& tx, const api::Configure& command);
Result<api::Reply> handle(Transaction& tx, const api::AgentJoined& command);
Result<api::Reply> handle(Transaction& tx, const api::AgentReported& command);
Result<api::Reply> handle(Transaction& tx, const api::AgentLeft& command);
Result<api::Reply> handle(Transaction& tx, const api::NodeLinkChanged& command);
Result<api::Reply> handle(Transaction& tx, const api::ApplyPlan& command);
Result<api::Reply> handle(Transaction& tx, const api::Tick& command);
Result<api::Reply> handle(Transaction& tx, const api::Recorded& command);

/// One slice of longer work; true: all of it is done.
bool work_off(Transaction& tx, ConfigureWork& work);
bool work_off(Transaction& tx, JoinWork& work);
bool work_off(Transaction& tx, LeaveWork& work);
bool work_off(Transaction& tx, ReportWork& work);
bool work_off(Transaction& tx, NodeEndWork& work);
bool work_off(Transaction& tx, RecordedWork& work);

/// Puts it behind what waits, and works off what there is room for.
void enqueue(Transaction& tx, Work work);
void work_off_backlog(Transaction& tx);

/// Nobody but the owner and administrators changes a workload.
[[nodiscard]] Status may_change(const Transaction& tx, const model::Workload& workload);
/// Held by nobody and its begin time has come: it stands in the queue from now on.
void set_eligible(const Transaction& tx, model::Workload& workload);

/// Null: it is not declared.
[[nodiscard]] const model::NodeDeclaration* find_declaration(const Core::State& state,
                                                             std::string_view name);
/// What is declared wins, the rest is as the agent found it, or as it was. A node that has less
/// than declared is drained.
void merge_capacity(const Transaction& tx, model::Node& node);

/// A lost node that comes back is used again only if the site says so; where agents bring their
/// nodes themselves, nobody else would say it. Call it before the link changes.
void judge_return(const Transaction& tx, model::Node& node);

/// The launches of a node that are not over end for one reason. False: there was no room for all.
[[nodiscard]] bool end_launches(Transaction& tx,
                                model::NodeId node,
                                NodeEnd end,
                                const std::string& why);
/// One launch is over by what is known of its node, not by its agent's word.
void end_launch(Transaction& tx, const api::LaunchKey& key, const std::string& why);
/// The grant of an earlier attempt is free again.
void release_fenced(Transaction& tx, const api::LaunchKey& key);
/// None if it is over, or not of this node.
[[nodiscard]] std::optional<Active> find_active(const Transaction& tx,
                                                model::NodeId node,
                                                const api::LaunchKey& key);

}  // namespace twinyard::controller
