#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/hostlist.h"
#include "cli/commands.h"
#include "slurm/errors.h"
#include "slurm/words.h"

/// For tests: a cluster of fixed rows that keeps what it was asked for.
namespace twinyard::cli::testing {

template <class T>
bool passes(const std::vector<T>& list, const T& value) {
    return list.empty() || std::ranges::find(list, value) != list.end();
}

class FakeListings final : public Cluster {
  public:
    std::vector<api::JobRow> jobs;
    std::vector<api::NodeRow> nodes;
    std::vector<api::PartitionRow> partitions;
    std::vector<api::AccountingRecord> history;
    api::ControllerInfo controller{.version = "1", .cluster = "yard", .host = "head", .config = {}};
    bool down = false;

    api::JobQuery job_query;
    api::AccountingQuery history_query;
    std::vector<api::JobActionRequest> actions;
    std::vector<api::UpdateRequest> updates;
    int calls = 0;

    Result<api::JobSubmitted> submit(const api::JobRequest&) override { return gone(); }
    Status list_jobs(const api::JobQuery& query, const Visit<api::JobRow>& visit) override {
        job_query = query;
        return list(jobs, visit, [&](const api::JobRow& row) { return wants(query, row); });
    }
    Status list_nodes(const api::NodeQuery& query, const Visit<api::NodeRow>& visit) override {
        return list(
            nodes, visit, [&](const api::NodeRow& row) { return passes(query.nodes, row.name); });
    }
    Status list_partitions(const api::PartitionQuery& query,
                           const Visit<api::PartitionRow>& visit) override {
        return list(partitions, visit, [&](const api::PartitionRow& row) {
            return passes(query.partitions, row.name);
        });
    }
    Status list_history(const api::AccountingQuery& query,
                        const Visit<api::AccountingRecord>& visit) override {
        history_query = query;
        return list(history, visit, [&](const api::AccountingRecord& row) {
            if (row.step != -1 && !query.with_steps) return false;
            if (query.from && row.ended != WallTime{} && row.ended < *query.from) return false;
            if (query.to && row.submitted > *query.to) return false;
            if (row.requeued && !query.all_attempts) return false;
            return passes(query.jobs, row.job) && passes(query.uids, row.uid) &&
                   passes(query.names, row.name) && passes(query.partitions, row.partition) &&
                   passes(query.queues, row.queue);
        });
    }
    Result<api::TargetsAnswer> cancel(const api::CancelRequest&) override { return gone(); }
    Result<api::TargetsAnswer> act(const api::JobActionRequest& request) override {
        if (down) return gone();
        actions.push_back(request);
        api::TargetsAnswer answer;
        for (const std::uint32_t job : request.jobs) {
            if (std::ranges::find(jobs, job, &api::JobRow::job) == jobs.end())
                answer.entries.push_back({job, "Invalid job id specified"});
        }
        return answer;
    }
    Status update(const api::UpdateRequest& request) override {
        if (down) return gone();
        updates.push_back(request);
        for (const auto& [key, value] : request.settings) {
            if (value == "99" || value == "n99") return slurm::refuse(refusal_of(request));
            if (value == "unsupported") {
                return fail(ErrorCode::InvalidArgument,
                            "Update of this parameter is not supported: " + key + "=" + value);
            }
        }
        return {};
    }
    Result<api::ControllerInfo> info() override {
        ++calls;
        if (down) return gone();
        return controller;
    }
    Status reconfigure() override { return down ? Status(gone()) : Status(); }
    Result<std::string> job_script(std::uint32_t job) override {
        if (job != 5) return slurm::refuse(slurm::Refusal::InvalidJobId);
        return "#!/bin/sh\ntrue\n";
    }

  private:
    static std::unexpected<Error> gone() { return slurm::refuse(slurm::Refusal::ConnectFailure); }
    static slurm::Refusal refusal_of(const api::UpdateRequest& request) {
        return request.kind == api::UpdateRequest::Kind::Node ? slurm::Refusal::InvalidNodeName
                                                              : slurm::Refusal::InvalidJobId;
    }

    static bool wants(const api::JobQuery& query, const api::JobRow& row) {
        const bool state =
            query.all_states || (query.states.empty() ? !slurm::is_finished_state(row.state)
                                                      : passes(query.states, row.state));
        bool on_node = query.nodes.empty();
        for (const std::string& name :
             expand_hostlist(row.node_list).value_or(std::vector<std::string>{}))
            on_node |= std::ranges::find(query.nodes, name) != query.nodes.end();
        return state && on_node && passes(query.jobs, row.job) && passes(query.uids, row.uid) &&
               passes(query.partitions, row.partition) && passes(query.names, row.name) &&
               passes(query.accounts, row.account) && passes(query.qos, row.qos);
    }

    template <class Row, class Wants>
    Status list(const std::vector<Row>& rows, const Visit<Row>& visit, Wants wanted) {
        ++calls;
        if (down) return gone();
        for (const Row& row : rows) {
            if (wanted(row)) visit(row);
        }
        return {};
    }
};

/// What a command printed and ended with.
struct Ran {
    std::string out, err;
    ExitCode exit = kOk;
    friend bool operator==(const Ran&, const Ran&) = default;
    friend std::ostream& operator<<(std::ostream& stream, const Ran& ran) {
        return stream << "rc " << ran.exit << "\n[out]\n" << ran.out << "[err]\n" << ran.err;
    }
};

/// 2026-12-01T12:00:00 UTC.
inline constexpr std::int64_t kNow = 1'796'126'400'000;

/// A process of ada (uid 1000) on host "head".
inline Environment test_environment(std::vector<std::string> variables = {}) {
    Environment environment;
    environment.variables = std::move(variables);
    environment.uid = environment.gid = 1000;
    environment.host_name = "head";
    environment.now_ms = [] { return kNow; };
    environment.user_id = [](std::string_view name) -> std::optional<std::uint32_t> {
        if (name == "root") return 0;
        if (name == "ada") return 1000;
        if (name == "bob") return 1001;
        return std::nullopt;
    };
    environment.user_name = [](std::uint32_t uid) -> std::string {
        return uid == 0 ? "root" : uid == 1000 ? "ada" : uid == 1001 ? "bob" : std::to_string(uid);
    };
    environment.group_name = environment.user_name;
    environment.read_file = [](const std::string& path, std::size_t) -> Result<std::string> {
        return path == "-" ? Result<std::string>("n3\nn1 n2\n")
                           : fail(ErrorCode::NotFound, path + ": no such file");
    };
    return environment;
}

/// The words of a command line; words in single quotes may hold blanks.
inline std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const bool quoted = line.front() == '\'';
        if (quoted) line.remove_prefix(1);
        const std::size_t end = std::min(line.find(quoted ? '\'' : ' '), line.size());
        if (quoted || end > 0) words.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

/// Runs "-h -j 5" of a command.
inline Ran run_line(RunCommand command,
                    std::string_view name,
                    std::string_view line,
                    FakeListings& cluster,
                    const Environment& environment = test_environment()) {
    Output output(name);
    const std::vector<std::string_view> words = words_of(line);
    const ExitCode exit = command(words, environment, cluster, output);
    return {output.out_text(), output.err_text(), exit};
}

}  // namespace twinyard::cli::testing
