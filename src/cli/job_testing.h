#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "slurm/errors.h"

/// For tests: a process of a known user at a known time, and a cluster that answers as told.
namespace twinyard::cli::job_testing {

/// Splits at blanks; `'a b'` is one word.
inline std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    bool in_word = false, quoted = false;
    for (const char c : line) {
        if (c == '\'') {
            quoted = !quoted;
            if (!in_word) words.emplace_back();
            in_word = true;
        } else if (c == ' ' && !quoted) {
            in_word = false;
        } else {
            if (!in_word) words.emplace_back();
            in_word = true;
            words.back() += c;
        }
    }
    return words;
}

inline Environment test_environment() {
    Environment environment;
    environment.variables = {"HOME=/home/alice", "PATH=/usr/bin"};
    environment.uid = environment.gid = 1000;
    environment.work_dir = "/home/alice";
    environment.host_name = "head";
    environment.limits = {{.resource = 7, .soft = 1024}, {.resource = 4, .soft = 0}};
    environment.command_line = "as typed";
    environment.now_ms = [] { return std::int64_t{1'767'225'600'000}; };  // 2026-01-01.
    environment.new_request_id = [] { return api::RequestId{7}; };
    environment.read_file = [](const std::string& path, std::size_t) -> Result<std::string> {
        return fail(ErrorCode::NotFound, path);
    };
    environment.user_id = [](std::string_view name) -> std::optional<std::uint32_t> {
        if (name == "alice") return 1000;
        if (name == "bob") return 1001;
        return std::nullopt;
    };
    environment.user_name = [](std::uint32_t uid) {
        return uid == 1000 ? std::string("alice") : std::to_string(uid);
    };
    environment.group_name = [](std::uint32_t gid) { return std::to_string(gid); };
    return environment;
}

class FakeCluster final : public Cluster {
  public:
    /// Answers to submit() in order; then job 17 each time.
    std::deque<Result<api::JobSubmitted>> submit_answers;
    /// Answers to list_jobs() in order; the last stays.
    std::deque<std::vector<api::JobRow>> job_answers;
    api::TargetsAnswer cancel_answer;

    std::vector<api::JobRequest> submitted;
    std::vector<api::CancelRequest> cancelled;

    Result<api::JobSubmitted> submit(const api::JobRequest& request) override {
        submitted.push_back(request);
        if (submit_answers.empty()) return api::JobSubmitted{.job = 17, .message = {}};
        auto answer = std::move(submit_answers.front());
        submit_answers.pop_front();
        return answer;
    }
    Status list_jobs(const api::JobQuery&, const Visit<api::JobRow>& visit) override {
        if (job_answers.empty()) return {};
        for (const api::JobRow& row : job_answers.front())
            visit(row);
        if (job_answers.size() > 1) job_answers.pop_front();
        return {};
    }
    Result<api::TargetsAnswer> cancel(const api::CancelRequest& request) override {
        cancelled.push_back(request);
        return cancel_answer;
    }
    Status list_nodes(const api::NodeQuery&, const Visit<api::NodeRow>&) override {
        return unasked();
    }
    Status list_partitions(const api::PartitionQuery&, const Visit<api::PartitionRow>&) override {
        return unasked();
    }
    Status list_history(const api::AccountingQuery&, const Visit<api::AccountingRecord>&) override {
        return unasked();
    }
    Result<api::TargetsAnswer> act(const api::JobActionRequest&) override { return unasked(); }
    Status update(const api::UpdateRequest&) override { return unasked(); }
    Result<api::ControllerInfo> info() override { return unasked(); }
    Status reconfigure() override { return unasked(); }
    Result<std::string> job_script(std::uint32_t) override { return unasked(); }

  private:
    static std::unexpected<Error> unasked() {
        return slurm::refuse(slurm::Refusal::ConnectFailure);
    }
};

/// A command that ran.
struct Ran {
    ExitCode exit = kOk;
    std::string out, err;
};
inline Ran run(RunCommand command,
               std::string_view line,
               const Environment& environment,
               Cluster& cluster) {
    const std::vector<std::string> words = words_of(line);
    const std::vector<std::string_view> args(words.begin() + 1, words.end());
    Output output(words.front());
    const ExitCode exit = command(args, environment, cluster, output);
    return {exit, output.out_text(), output.err_text()};
}

}  // namespace twinyard::cli::job_testing
