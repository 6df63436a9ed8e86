#include <algorithm>
#include <string>
#include <utility>

#include "controller/core/handlers.h"
#include "controller/core/life.h"

namespace twinyard::controller {
namespace {

constexpr std::size_t kBlobsMax = 4;
/// Rows of history that may wait for the accounting, as a multiple of the jobs the site allows.
constexpr std::size_t kOutboxRowsPerJob = 4;

Status check_limits(const Transaction& tx) {
    const std::size_t jobs_max = tx.config().limits.jobs_max;
    if (tx.view().workloads.size() >= jobs_max) {
        return fail(ErrorCode::Unavailable,
                    "the limit of " + std::to_string(jobs_max) + " jobs is reached");
    }
    if (tx.state().outbox.size() >= jobs_max * kOutboxRowsPerJob)
        return fail(ErrorCode::Unavailable, "the accounting is too far behind");
    return {};
}

Status check_spec(const Transaction& tx, const api::Submit& command) {
    if (command.spec == nullptr || command.spec->groups.empty())
        return fail(ErrorCode::InvalidArgument, "the request is empty");
    const model::WorkloadSpec& spec = *command.spec;
    if (!tx.principal().is_admin && spec.uid != tx.principal().uid)
        return fail(ErrorCode::Denied, "only an administrator submits for another user");
    if (!tx.principal().is_admin && command.hold == model::Hold::Admin)
        return fail(ErrorCode::Denied, "only an administrator sets this hold");
    if (spec.partitions.empty()) return fail(ErrorCode::InvalidArgument, "no partition is named");
    for (const std::string& name : spec.partitions) {
        const model::Partition* partition = find_partition(tx.config(), name);
        if (partition == nullptr)
            return fail(ErrorCode::InvalidArgument, "there is no partition " + name);
        if (partition->state == model::PartitionState::Drain ||
            partition->state == model::PartitionState::Inactive)
            return fail(ErrorCode::Conflict, "partition " + name + " takes nothing new");
    }
    return {};
}

bool is_there(const Transaction& tx, const api::Submit& command, const ContentHash& hash) {
    if (hash.empty()) return true;
    for (const api::Blob& blob : command.blobs) {
        if (blob.hash == hash) return true;
    }
    const auto known = tx.state().blobs.find(hash);
    return known != tx.state().blobs.end() && known->second.stored;
}

Status check_blobs(const Transaction& tx, const api::Submit& command) {
    if (command.blobs.size() > kBlobsMax)
        return fail(ErrorCode::InvalidArgument, "too many parts in one request");
    const model::LaunchSpec& launch = command.spec->launch;
    if (!is_there(tx, command, launch.script) || !is_there(tx, command, launch.environment))
        return fail(ErrorCode::InvalidArgument, "the script or environment was not stored");
    return {};
}

/// The next number that no kept job answers to; 0: all are taken.
model::JobId free_job_id(const Transaction& tx) {
    const model::Limits& limits = tx.config().limits;
    const std::uint32_t first = std::max(limits.first_job_id, 1U);
    const std::uint32_t last = std::max(limits.max_job_id, first);
    const std::uint64_t numbers = std::uint64_t{last} - first + 1;
    if (tx.view().jobs.size() >= numbers) return {};
    std::uint32_t number = tx.state().counters.next_job;
    for (std::uint64_t tried = 0; tried < numbers; ++tried) {
        if (number < first || number > last) number = first;
        if (tx.view().jobs.find(number) == nullptr) return model::JobId{number};
        ++number;
    }
    return {};
}

model::Workload new_workload(Transaction& tx, const api::Submit& command, model::JobId job) {
    model::Workload workload;
    workload.id = model::WorkloadId{tx.counters().next_workload++};
    workload.job = job;
    workload.spec = command.spec;
    workload.status.hold = command.hold;
    workload.status.submitted = tx.now();
    workload.status.submitted_wall = tx.wall();
    set_eligible(tx, workload);
    return workload;
}

bool is_remembered(const api::RequestId& id) {
    return id != api::RequestId{};
}

}  // namespace

void set_eligible(const Transaction& tx, model::Workload& workload) {
    const std::optional<WallTime>& begin = workload.spec->begin;
    const bool now = workload.status.hold == model::Hold::None && (!begin || *begin <= tx.wall());
    workload.status.eligible = now ? tx.now() : ClusterTime{};
    workload.status.eligible_wall = now ? tx.wall() : WallTime{};
}

Result<api::Reply> handle(Transaction& tx, const api::Submit& command) {
    const auto known = tx.state().requests.find(command.request_id);
    if (is_remembered(command.request_id) && known != tx.state().requests.end()) {
        return api::Submitted{
            .workload = known->second.workload, .job = known->second.job, .repeated = true};
    }
    TRY_STATUS(check_limits(tx));
    TRY_STATUS(check_spec(tx, command));
    TRY_STATUS(check_blobs(tx, command));
    model::JobId job;
    if (command.spec->door == model::Door::Slurm) {
        job = free_job_id(tx);
        if (!job) return fail(ErrorCode::Unavailable, "all job numbers are in use");
        tx.counters().next_job = job.value() + 1;
    }
    const model::LaunchSpec& launch = command.spec->launch;
    for (const api::Blob& blob : command.blobs) {
        // What the spec does not name would never be dropped.
        if (blob.hash == launch.script || blob.hash == launch.environment) tx.store_blob(blob);
    }
    const model::Workload& workload = tx.put(new_workload(tx, command, job));
    tx.record(job_record(tx.state(), workload, false));
    if (is_remembered(command.request_id))
        tx.remember({command.request_id, workload.id, workload.job, tx.now()});
    return api::Submitted{.workload = workload.id, .job = workload.job, .repeated = false};
}

}  // namespace twinyard::controller
