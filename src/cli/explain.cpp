#include <algorithm>

#include "base/text.h"
#include "cli/verbs.h"
#include "slurm/errors.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

constexpr std::size_t kNamedAhead = 5;

bool share_partition(std::string_view a, std::string_view b) {
    const auto names = split_list(b);
    return std::ranges::any_of(split_list(a), [&](std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    });
}

/// Pending jobs of the same partitions that come before it, the foremost first.
Result<std::vector<api::JobRow>> ahead_of(const api::JobRow& job, Cluster& cluster) {
    TRY(auto rows,
        rows_of<api::JobRow>(cluster, &Cluster::list_jobs, api::JobQuery{.states = {"PENDING"}}));
    std::erase_if(rows, [&](const api::JobRow& other) {
        const bool first = other.priority > job.priority ||
                           (other.priority == job.priority && other.workload < job.workload);
        return !first || other.held || !share_partition(other.partition, job.partition);
    });
    std::ranges::sort(rows, [](const api::JobRow& a, const api::JobRow& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.workload < b.workload;
    });
    return rows;
}

std::string ahead_text(const std::vector<api::JobRow>& ahead) {
    if (ahead.empty()) return "Ahead of it in the queue: nobody.\n";
    std::string text = "Ahead of it in the queue: " + std::to_string(ahead.size()) +
                       (ahead.size() == 1 ? " job (" : " jobs (");
    for (std::size_t i = 0; i < std::min(ahead.size(), kNamedAhead); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(ahead[i].job);
    return text + (ahead.size() > kNamedAhead ? ", ...).\n" : ").\n");
}

std::string start_text(const api::JobRow& job, const Environment& environment) {
    if (job.expected_start_ms <= 0) return "Expected start: not known.\n";
    std::string text = "Expected start: " +
                       slurm::date_text(environment.calendar, job.expected_start_ms, "Unknown");
    if (!job.expected_nodes.empty()) text += " on " + job.expected_nodes;
    return text + ".\n";
}

std::string state_text(const api::JobRow& job, const Environment& environment) {
    std::string text = "Job " + std::to_string(job.job) + " (" + printable(job.name) + ") of " +
                       environment.user_name(job.uid) + " in partition " + job.partition + " is " +
                       job.state;
    if (!job.reason.empty() && job.reason != "None") text += ", reason " + job.reason;
    text += ".\n";
    if (!job.explanation.empty()) text += job.explanation + "\n";
    return text;
}

}  // namespace

ExitCode run_explain(Args args, const Environment& environment, Cluster& cluster, Output& output) {
    const auto id = args.size() == 1
                        ? parse_number<std::uint32_t>(args.front(), 1)
                        : fail(ErrorCode::InvalidArgument, "usage: twinyard explain JOB");
    if (!id) {
        output.error(id.error().message());
        return kFailed;
    }
    const auto rows = rows_of<api::JobRow>(
        cluster,
        &Cluster::list_jobs,
        api::JobQuery{
            .jobs = {*id}, .all_states = true, .with_detail = true, .with_forecast = true});
    if (!rows || rows->empty()) {
        output.error(rows ? std::string(slurm::text_of(slurm::Refusal::InvalidJobId))
                          : rows.error().message());
        return kFailed;
    }
    const api::JobRow& job = rows->front();
    output.out(state_text(job, environment));
    if (job.state != "PENDING") {
        if (!job.node_list.empty()) output.out("Nodes: " + job.node_list + ".\n");
        return kOk;
    }
    const auto ahead = ahead_of(job, cluster);
    if (!ahead) {
        output.error(ahead.error().message());
        return kFailed;
    }
    output.out(ahead_text(*ahead));
    output.out(start_text(job, environment));
    return kOk;
}

}  // namespace twinyard::cli
