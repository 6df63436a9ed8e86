// The Slurm door's commands that change something. Flow of each: decode → check against a snapshot
// → command into a lane → answer when it is durable. Listings are in slurm_listings.cpp, `scontrol
// update` in slurm_update.cpp.
#include "controller/shell/slurm_door.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/hostlist.h"
#include "controller/shell/load.h"
#include "controller/shell/targets.h"
#include "os/log.h"
#include "sched/forecast.h"
#include "sched/index.h"
#include "slurm/errors.h"
#include "slurm/translate.h"
#include "wire/messages.h"
#include "wire/method.h"
#include "wire/record.h"

namespace twinyard::controller {

struct SubmitWork {
    slurm::Translated translated;
    api::Principal principal;
    api::RequestId request_id{};
    model::SnapshotPtr snapshot;
};

namespace {

using slurm::Refusal;
using SharedCall = std::shared_ptr<rpc::Call>;

// --test-only asks for one job: the replay goes on until that one has its start.
constexpr std::uint32_t kNoLimit = 1'000'000;

Error error_of(Refusal refusal) {
    return {slurm::code_of(refusal), std::string(slurm::text_of(refusal))};
}
Error busy() {
    return error_of(Refusal::TryAgain);
}

/// Decodes the payload, or answers the call with what is wrong.
template <class T>
std::optional<T> decoded(rpc::Call& call) {
    Result<T> request = wire::decode<T>(call.payload());
    if (request) return std::move(*request);
    call.fail(std::move(request).error());
    return std::nullopt;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += text.empty() ? line : "\n" + line;
    return text;
}

/// The core's refusal of a job target in Slurm's words.
std::string target_error(const Error& error, const model::Workload& workload) {
    switch (error.code()) {
        case ErrorCode::NotFound:
            return std::string(slurm::text_of(Refusal::InvalidJobId));
        case ErrorCode::Denied:
            return std::string(slurm::text_of(Refusal::AccessDenied));
        case ErrorCode::Conflict:
            break;
        default:
            return error.message();
    }
    using model::WorkloadState;
    switch (workload.status.state) {
        case WorkloadState::Pending:
            return std::string(slurm::text_of(Refusal::JobPending));
        case WorkloadState::Done:
        case WorkloadState::Completing:
            return std::string(slurm::text_of(Refusal::JobFinished));
        default:
            return std::string(slurm::text_of(Refusal::JobNotPending));
    }
}

std::vector<model::WorkloadId> ids_of(const std::vector<model::WorkloadPtr>& workloads) {
    std::vector<model::WorkloadId> ids;
    for (const model::WorkloadPtr& workload : workloads)
        ids.push_back(workload->id);
    return ids;
}

/// Runs a command for all targets and answers with one entry for each that could not be done.
void run_for_targets(Context& context,
                     rpc::Call call,
                     const api::Principal& principal,
                     ResolvedTargets resolved,
                     MakeCommand make) {
    auto shared = std::make_shared<rpc::Call>(std::move(call));
    auto ids = ids_of(resolved.found);
    for_all_targets(
        context.lanes,
        principal,
        std::move(ids),
        std::move(make),
        [shared, resolved = std::move(resolved)](std::vector<Status> results) {
            api::TargetsAnswer answer;
            for (const std::uint32_t job : resolved.unknown) {
                answer.entries.push_back({job, std::string(slurm::text_of(Refusal::InvalidJobId))});
            }
            for (std::size_t i = 0; i < results.size(); ++i) {
                const model::Workload& workload = *resolved.found[i];
                std::string text = results[i] ? "" : target_error(results[i].error(), workload);
                answer.entries.push_back({workload.job.value(), std::move(text)});
            }
            shared->reply(wire::encode(answer));
        });
}

}  // namespace

void SlurmDoor::handle(rpc::Call call) {
    switch (static_cast<wire::Method>(call.method())) {
        case wire::Method::SubmitJob:
            return submit(std::move(call));
        case wire::Method::ListJobs:
            return list_jobs(context_, std::move(call));
        case wire::Method::ListNodes:
            return list_nodes(context_, std::move(call));
        case wire::Method::ListPartitions:
            return list_partitions(context_, std::move(call));
        case wire::Method::ListHistory:
            return list_history(context_, std::move(call));
        case wire::Method::CancelJobs:
            return cancel(std::move(call));
        case wire::Method::ActOnJobs:
            return act(std::move(call));
        case wire::Method::Update:
            return update(std::move(call));
        case wire::Method::Info:
            return info(std::move(call));
        case wire::Method::Reconfigure:
            return reconfigure(std::move(call));
        case wire::Method::JobScript:
            return script(std::move(call));
        case wire::Method::EndAll:
            return end_all(std::move(call));
        default:
            call.fail(
                Error(ErrorCode::InvalidArgument, "the controller does not know this request"));
    }
}

api::Principal SlurmDoor::principal_of(const rpc::Call& call) const {
    const rpc::Peer& peer = call.peer();
    return {.uid = peer.uid,
            .gid = peer.gid,
            .is_admin = peer.uid == 0 || peer.uid == context_.own_uid};
}

// ---- submit
// --------------------------------------------------------------------------------------------------------

void SlurmDoor::submit(rpc::Call call) {
    auto request = decoded<api::JobRequest>(call);
    if (!request) return;
    SubmitWork work{.translated = {},
                    .principal = principal_of(call),
                    .request_id = request->request_id,
                    .snapshot = context_.published.snapshot()};
    auto translated =
        slurm::translate(*request, *work.snapshot->config, *work.snapshot, work.principal);
    if (!translated) {
        call.fail(std::move(translated).error());
        return;
    }
    work.translated = std::move(*translated);
    if (request->test_only) return test_only(std::move(call), std::move(work));

    // Large blobs are durable before the command that names them; pinned, so that they are not
    // dropped meanwhile.
    std::vector<api::Blob> large;
    std::erase_if(work.translated.blobs, [&](api::Blob& blob) {
        if (blob.bytes.size() <= wire::kInlineBlobMax) return false;
        large.push_back(std::move(blob));
        return true;
    });
    for (const api::Blob& blob : large) {
        const auto pin = [hash = blob.hash](Core& core) { core.pin_blob(hash); };
        if (!context_.lanes->try_push(Lane::User, {.command = api::Tick{}, .with_core = pin}))
            return call.fail(busy());
        const Status written = write_chunked_blob(context_.store, context_.term, blob);
        if (!written) return call.fail(written.error());
    }
    std::vector<ContentHash> pinned;
    for (const api::Blob& blob : large)
        pinned.push_back(blob.hash);

    std::size_t bytes = 1024;
    for (const api::Blob& blob : work.translated.blobs)
        bytes += blob.bytes.size();
    auto shared = std::make_shared<rpc::Call>(std::move(call));
    Item item{.principal = work.principal};
    item.command = api::Submit{
        .request_id = work.request_id,
        .spec = std::make_shared<const model::WorkloadSpec>(std::move(work.translated.spec)),
        .blobs = std::move(work.translated.blobs),
        .hold = work.translated.hold};
    item.on_reply = [shared,
                     pinned,
                     lanes = context_.lanes,
                     warnings = joined(work.translated.warnings)](Result<api::Reply> reply) {
        for (const ContentHash& hash : pinned) {
            // A full lane leaves the pin: the blob then stays until the next start sweeps it.
            (void)lanes->try_push(Lane::Control,
                                  {.command = api::Tick{},
                                   .with_core = [hash](Core& core) { core.unpin_blob(hash); }});
        }
        if (!reply) return shared->fail(std::move(reply).error());
        const auto& submitted = std::get<api::Submitted>(*reply);
        shared->reply(
            wire::encode(api::JobSubmitted{.job = submitted.job.value(), .message = warnings}));
    };
    if (!context_.lanes->try_push(Lane::User, std::move(item), bytes)) shared->fail(busy());
}

void SlurmDoor::test_only(rpc::Call call, SubmitWork work) {
    // The queue as it is, with this job at its end, replayed forward.
    model::Snapshot with = *work.snapshot;
    const model::WorkloadId id(~std::uint64_t{0} >> 1);
    model::Workload workload{.id = id};
    workload.status.submitted = workload.status.eligible = context_.clock.now();
    workload.status.submitted_wall = workload.status.eligible_wall = RunningClock::wall();
    workload.spec = std::make_shared<const model::WorkloadSpec>(std::move(work.translated.spec));
    const model::WorkloadSpec& spec = *workload.spec;
    with.workloads.put(id.value(), std::make_shared<const model::Workload>(std::move(workload)));
    const auto index = sched::Index::build(with);
    const auto now = context_.clock.now();
    const auto wall = RunningClock::wall();
    const auto forecast =
        sched::forecast(index, now, wall, with.config->priority, {.workloads = kNoLimit});
    // The number it would most likely get.
    std::uint64_t last_job = 0;
    work.snapshot->jobs.for_each(
        [&](std::uint64_t job, const model::WorkloadId&) { last_job = job; });
    api::JobSubmitted answer{.job = static_cast<std::uint32_t>(last_job + 1),
                             .message = joined(work.translated.warnings),
                             .partition = spec.partitions.front()};
    const auto start = forecast.starts.find(id);
    if (start != forecast.starts.end() && start->second) {
        const WallTime at = wall + (*start->second - now);
        answer.expected_start_unix_ms = at.time_since_epoch().count();
        std::vector<std::string> names;
        const auto nodes = forecast.nodes.find(id);
        if (nodes != forecast.nodes.end()) {
            for (const model::NodeId node : nodes->second) {
                if (const model::Node* found = model::find(with, node))
                    names.push_back(found->name);
            }
        }
        answer.expected_nodes = fold_hostlist(names);
    }
    const model::TaskGroup& group = spec.groups.front();
    const std::int64_t cpus = (group.per_member.cpu_milli * group.members.min + 999) / 1000;
    answer.expected_cpus = static_cast<std::uint32_t>(std::max<std::int64_t>(1, cpus));
    call.reply(wire::encode(answer));
}

// ---- cancel, signal, hold …
// ----------------------------------------------------------------------------------------

void SlurmDoor::cancel(rpc::Call call) {
    auto request = decoded<api::CancelRequest>(call);
    if (!request) return;
    if (request->step)
        return call.fail(
            Error(ErrorCode::InvalidArgument, "signals to a single step are not built yet"));
    const auto snapshot = context_.published.snapshot();
    auto resolved = resolve(request->targets, *snapshot);
    const api::Principal principal = principal_of(call);
    if (!request->signal) {
        return run_for_targets(context_,
                               std::move(call),
                               principal,
                               std::move(resolved),
                               [](std::vector<model::WorkloadId> ids) {
                                   return api::Cancel{.targets = std::move(ids)};
                               });
    }
    run_for_targets(
        context_,
        std::move(call),
        principal,
        std::move(resolved),
        [signal = *request->signal, scope = request->scope](std::vector<model::WorkloadId> ids) {
            return api::Signal{.targets = std::move(ids), .signal = signal, .scope = scope};
        });
}

void SlurmDoor::act(rpc::Call call) {
    auto request = decoded<api::JobActionRequest>(call);
    if (!request) return;
    const auto snapshot = context_.published.snapshot();
    auto resolved = resolve({.jobs = request->jobs}, *snapshot);
    const api::Principal principal = principal_of(call);
    using model::Hold;
    const auto holds = [](Hold hold) -> MakeCommand {
        return [hold](std::vector<model::WorkloadId> ids) {
            return api::SetHold{std::move(ids), hold};
        };
    };
    const auto requeues = [](Hold then) -> MakeCommand {
        return [then](std::vector<model::WorkloadId> ids) {
            return api::Requeue{std::move(ids), then};
        };
    };
    MakeCommand make;
    switch (request->action) {
        // As in Slurm, `hold` by an administrator holds against the owner too.
        case api::JobAction::Hold:
            make = holds(principal.is_admin ? Hold::Admin : Hold::User);
            break;
        case api::JobAction::UserHold:
            make = holds(Hold::User);
            break;
        case api::JobAction::Release:
            make = holds(Hold::None);
            break;
        case api::JobAction::Requeue:
            make = requeues(Hold::None);
            break;
        case api::JobAction::RequeueHold:
            make = requeues(principal.is_admin ? Hold::Admin : Hold::User);
            break;
        case api::JobAction::Suspend:
        case api::JobAction::Resume:
            return call.fail(
                Error(ErrorCode::InvalidArgument, "suspend and resume are not built yet"));
    }
    run_for_targets(context_, std::move(call), principal, std::move(resolved), std::move(make));
}

// ---- update, administration
// ----------------------------------------------------------------------------------------

namespace {

void push_update(Context& context,
                 const SharedCall& call,
                 api::Command command,
                 const api::Principal& principal,
                 std::move_only_function<void()> then,
                 std::function<std::string(const Error&)> words = {}) {
    Item item{.command = std::move(command), .principal = principal};
    item.on_reply =
        [call, then = std::move(then), words = std::move(words)](Result<api::Reply> reply) mutable {
            if (!reply) {
                const Error& error = reply.error();
                if (error.code() == ErrorCode::Denied)
                    return call->fail(error_of(Refusal::AccessDenied));
                return call->fail(words ? Error(error.code(), words(error)) : error);
            }
            if (const auto* affected = std::get_if<api::Affected>(&*reply)) {
                for (const Status& status : affected->results) {
                    if (!status) return call->fail(status.error());
                }
            }
            if (then) return then();
            call->reply({});
        };
    if (!context.lanes->try_push(Lane::Control, std::move(item))) call->fail(busy());
}

/// One slice of nodes after the other.
void update_nodes(Context& context,
                  const SharedCall& call,
                  std::shared_ptr<NodeUpdate> update,
                  const api::Principal& principal) {
    api::UpdateNode slice = update->change;
    const std::size_t count = std::min(api::kCommandTargetsMax, update->names.size());
    slice.names.assign(update->names.begin(),
                       update->names.begin() + static_cast<std::ptrdiff_t>(count));
    update->names.erase(update->names.begin(),
                        update->names.begin() + static_cast<std::ptrdiff_t>(count));
    std::move_only_function<void()> then;
    if (!update->names.empty()) {
        then = [&context, call, update, principal] {
            update_nodes(context, call, update, principal);
        };
    }
    push_update(context, call, std::move(slice), principal, std::move(then));
}

}  // namespace

void SlurmDoor::update(rpc::Call call) {
    auto request = decoded<api::UpdateRequest>(call);
    if (!request) return;
    const auto snapshot = context_.published.snapshot();
    const api::Principal principal = principal_of(call);
    auto shared = std::make_shared<rpc::Call>(std::move(call));
    if (request->kind == api::UpdateRequest::Kind::Partition) {
        return shared->fail(Error(ErrorCode::InvalidArgument,
                                  "updates of partitions are not built yet; edit the file and "
                                  "run scontrol reconfigure"));
    }
    if (request->kind == api::UpdateRequest::Kind::Node) {
        if (!principal.is_admin) return shared->fail(error_of(Refusal::AccessDenied));
        auto nodes = node_update(*request, *snapshot);
        if (!nodes) return shared->fail(std::move(nodes).error());
        return update_nodes(
            context_, shared, std::make_shared<NodeUpdate>(std::move(*nodes)), principal);
    }
    auto command = job_update(*request, *snapshot);
    if (!command) return shared->fail(std::move(command).error());
    const model::WorkloadPtr* target =
        snapshot->workloads.find(std::get<api::Update>(*command).target.value());
    std::function<std::string(const Error&)> words;
    if (target != nullptr)
        words = [workload = *target](const Error& e) { return target_error(e, *workload); };
    push_update(context_, shared, std::move(*command), principal, {}, std::move(words));
}

void SlurmDoor::info(rpc::Call call) {
    const auto snapshot = context_.published.snapshot();
    const auto stats = context_.engine.stats();
    api::ControllerInfo info{.cluster = snapshot->config->cluster_name,
                             .config = context_.config.rows()};
    info.boot_ms = context_.started.time_since_epoch().count();
    info.passes = stats.passes;
    info.last_pass_us = stats.last_pass_us;
    snapshot->workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        info.pending += workload->status.state == model::WorkloadState::Pending ? 1U : 0U;
        info.running += model::holds_resources(workload->status.state) ? 1U : 0U;
    });
    call.reply(wire::encode(info));
}

void SlurmDoor::reconfigure(rpc::Call call) {
    const api::Principal principal = principal_of(call);
    if (!principal.is_admin) return call.fail(error_of(Refusal::AccessDenied));
    auto config = context_.config.load();
    if (!config) return call.fail(std::move(config).error());
    os::log_info("reconfigured by uid {}", principal.uid);
    push_update(context_,
                std::make_shared<rpc::Call>(std::move(call)),
                api::Configure{std::move(*config)},
                principal,
                {});
}

void SlurmDoor::script(rpc::Call call) {
    auto query = decoded<api::JobQuery>(call);
    if (!query) return;
    const auto snapshot = context_.published.snapshot();
    const auto resolved = resolve({.jobs = query->jobs}, *snapshot);
    if (resolved.found.size() != 1) return call.fail(error_of(Refusal::InvalidJobId));
    const model::WorkloadSpec& spec = *resolved.found.front()->spec;
    const api::Principal principal = principal_of(call);
    if (!principal.is_admin && principal.uid != spec.uid)
        return call.fail(error_of(Refusal::AccessDenied));
    auto bytes = read_blob(context_.store, spec.launch.script);
    if (!bytes) return call.fail(std::move(bytes).error());
    call.reply(std::move(*bytes));
}

void SlurmDoor::end_all(rpc::Call call) {
    const api::Principal principal = principal_of(call);
    if (!principal.is_admin) return call.fail(error_of(Refusal::AccessDenied));
    context_.engine.pause();
    const auto snapshot = context_.published.snapshot();
    ResolvedTargets live;
    snapshot->workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        if (model::holds_resources(workload->status.state)) live.found.push_back(workload);
    });
    run_for_targets(context_,
                    std::move(call),
                    principal,
                    std::move(live),
                    [](std::vector<model::WorkloadId> ids) {
                        return api::Cancel{.targets = std::move(ids), .requeue_if_allowed = true};
                    });
}

}  // namespace twinyard::controller
