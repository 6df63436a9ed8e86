#include "base/text.h"
#include "cli/verbs.h"
#include "slurm/errors.h"
#include "slurm/words.h"

namespace twinyard::cli {

namespace {

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
    output.out(start_text(job, environment));
    return kOk;
}

}  // namespace twinyard::cli
