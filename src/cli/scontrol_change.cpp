// scontrol's commands that change something, and `write`.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "cli/scontrol.h"
#include "slurm/errors.h"

namespace twinyard::cli {

namespace {

std::string invalid_job() {
    return std::string(slurm::text_of(slurm::Refusal::InvalidJobId));
}

/// The jobs of a name: the caller's, an administrator's command means everybody's.
Result<std::vector<std::uint32_t>> jobs_named(Scontrol& run, std::string_view name) {
    api::JobQuery query{.names = {std::string(name)}};
    if (run.environment.uid != 0) query.uids = {run.environment.uid};
    TRY(const auto rows, rows_of<api::JobRow>(run.cluster, &Cluster::list_jobs, query));
    std::vector<std::uint32_t> jobs;
    for (const api::JobRow& row : rows)
        jobs.push_back(row.job);
    return jobs;
}

std::string no_jobs_named(const Scontrol& run, std::string_view name) {
    return "No jobs with user ID " + std::to_string(run.environment.uid) + " and name '" +
           printable(name, 60) + "'";
}

// ---- hold, release, requeue

struct ActionRow {
    std::string_view word;
    std::size_t min_letters;
    api::JobAction action;
    std::string_view what;  ///< Before the error's text; empty: nothing is said twice.
};

constexpr std::string_view kSuspend = "slurm_suspend error";  // Slurm's name of that call.

constexpr auto kActions = std::to_array<ActionRow>({
    {"hold", 2, api::JobAction::Hold, kSuspend},
    {"uhold", 2, api::JobAction::UserHold, kSuspend},
    {"release", 3, api::JobAction::Release, kSuspend},
    {"requeuehold", 8, api::JobAction::RequeueHold, ""},
    {"requeue", 3, api::JobAction::Requeue, ""},
});

ExitCode job_failed(const Scontrol& run,
                    const std::string& job,
                    std::string_view what,
                    const std::string& text) {
    run.output.err(text + " for job " + printable(job, 60) + "\n");
    if (!what.empty()) run.output.err(std::string(what) + ": " + text + "\n");
    return kFailed;
}

/// Jobs of one word: "5", "5,6", "jobid=5", "name=train".
ExitCode add_targets(Scontrol& run,
                     std::string_view word,
                     std::string_view what,
                     std::vector<std::uint32_t>& jobs) {
    const auto pair = split_once(word, '=');
    const bool by_name =
        pair && (equal_nocase(pair->first, "name") || equal_nocase(pair->first, "jobname"));
    if (by_name) {
        auto named = jobs_named(run, pair->second);
        if (!named) return run.err(named.error().message());
        if (named->empty()) return run.err(no_jobs_named(run, pair->second));
        jobs.insert(jobs.end(), named->begin(), named->end());
        return kOk;
    }
    ExitCode exit = kOk;
    for (const std::string_view text : split_list(pair ? pair->second : word)) {
        const auto job = parse_number<std::uint32_t>(text, 1);
        if (job) {
            jobs.push_back(*job);
        } else {
            exit = job_failed(run, std::string(text), what, invalid_job());
        }
    }
    return exit;
}

}  // namespace

ExitCode scontrol_act(Scontrol& run, std::string_view keyword, Args words) {
    const auto action = std::ranges::find_if(kActions, [&](const ActionRow& row) {
        return is_word(keyword, row.word, row.min_letters);
    });
    ExitCode exit = kOk;
    api::JobActionRequest request{.action = action->action};
    for (const std::string_view word : words) {
        if (add_targets(run, word, action->what, request.jobs) != kOk) exit = kFailed;
    }
    if (request.jobs.empty()) return exit;
    const auto answer = run.cluster.act(request);
    if (!answer) return run.err(std::string(keyword) + " error: " + answer.error().message());
    for (const auto& entry : answer->entries) {
        if (entry.error.empty()) continue;
        exit = job_failed(run, std::to_string(entry.job), action->what, entry.error);
    }
    return exit;
}

// ---- update

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;
using Kind = api::UpdateRequest::Kind;

struct IdKey {
    std::string_view key;
    Kind kind;
};
/// The first one that was given says whose update it is: `Partition=` and `JobName=` are settings
/// of a job too.
constexpr auto kIdKeys = std::to_array<IdKey>({
    {"jobid", Kind::Job},
    {"job", Kind::Job},
    {"nodename", Kind::Node},
    {"partitionname", Kind::Partition},
    {"jobname", Kind::Job},
});

const IdKey* id_key(const Settings& settings) {
    for (const IdKey& candidate : kIdKeys) {
        for (const auto& [key, value] : settings) {
            if (equal_nocase(key, candidate.key)) return &candidate;
        }
    }
    return nullptr;
}

/// What the update is about may be shortened to three letters: node=, part=. Only the first word:
/// `partition=` further on is a job's.
std::string whole_entity_key(const std::string& key) {
    constexpr std::size_t kShortest = 3;
    for (const std::string_view whole : {"NodeName", "PartitionName"}) {
        if (key.size() >= kShortest && starts_with_nocase(whole, key)) return std::string(whole);
    }
    return key;
}

std::string value_of(const Settings& settings, std::string_view key) {
    for (const auto& [name, value] : settings) {
        if (equal_nocase(name, key)) return value;
    }
    return {};
}

ExitCode update_error(const Scontrol& run, const Error& error) {
    return run.err("slurm_update error: " + error.message());
}

/// One job after the other, each with its own answer.
ExitCode update_jobs(Scontrol& run, const Settings& settings, std::string_view key) {
    std::vector<std::string> jobs;
    const std::string value = value_of(settings, key);
    const bool by_name = key == "jobname";
    if (by_name) {
        const auto named = jobs_named(run, value);
        if (!named) return update_error(run, named.error());
        if (named->empty()) return run.err(no_jobs_named(run, value));
        for (const std::uint32_t job : *named)
            jobs.push_back(std::to_string(job));
    } else {
        for (const std::string_view job : split_list(value))
            jobs.emplace_back(job);
    }
    ExitCode exit = kOk;
    for (const std::string& job : jobs) {
        api::UpdateRequest request{.kind = Kind::Job, .settings = {{"JobId", job}}};
        for (const auto& setting : settings) {
            if (!equal_nocase(setting.first, key)) request.settings.push_back(setting);
        }
        const Status done = run.cluster.update(request);
        if (done) continue;
        const std::string& text = done.error().message();
        // What no job has is said once.
        if (text.starts_with("Update of this parameter is not supported"))
            return run.err(text + "\nRequest aborted");
        exit = job_failed(run, job, "slurm_update error", text);
    }
    return exit;
}

ExitCode update_nodes(Scontrol& run, const Settings& settings) {
    const std::string state = to_lower(value_of(settings, "state"));
    const bool takes_away =
        state == "down" || state == "drain" || state == "drained" || state == "draining";
    if (takes_away && value_of(settings, "reason").empty()) {
        return run.err("You must specify a reason when DOWNING or DRAINING a node. Request denied");
    }
    const Status done = run.cluster.update({.kind = Kind::Node, .settings = settings});
    return done ? kOk : update_error(run, done.error());
}

}  // namespace

ExitCode scontrol_update(Scontrol& run, std::string_view, Args words) {
    Settings settings;
    for (const std::string_view word : words) {
        const auto pair = split_once(word, '=');
        if (!pair || pair->first.empty())
            return run.err("Invalid input: " + printable(word, 60) + "\nRequest aborted");
        if (pair->first.ends_with('+') || pair->first.ends_with('-'))
            return run.not_built("update with " + printable(pair->first, 60) + "=");
        settings.emplace_back(pair->first, pair->second);
    }
    if (!settings.empty()) settings.front().first = whole_entity_key(settings.front().first);
    const IdKey* id = id_key(settings);
    if (id == nullptr) {
        return run.err(
            "No valid entity in update command\n"
            "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", "
            "or \"SlurmctldDebug\"");
    }
    if (settings.size() == 1) return run.err("No changes specified");
    switch (id->kind) {
        case Kind::Job:
            return update_jobs(run, settings, id->key);
        case Kind::Node:
            return update_nodes(run, settings);
        case Kind::Partition:
            break;
    }
    const Status done = run.cluster.update({.kind = Kind::Partition, .settings = settings});
    return done ? kOk : update_error(run, done.error());
}

// ---- write

namespace {

Status write_file(const std::string& path, std::string_view text) {
    const auto failed = [&] {
        return fail(ErrorCode::Unavailable, printable(path, 200) + ": " + std::strerror(errno));
    };
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return failed();
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const Status status = failed();
            ::close(fd);
            return status;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::close(fd) == 0 ? Status() : Status(failed());
}

}  // namespace

/// `write batch_script JOB [FILE|-]`
ExitCode scontrol_write(Scontrol& run, std::string_view keyword, Args words) {
    if (is_word(words[0], "config", 1)) return run.not_built("write config");
    if (!is_word(words[0], "batch_script", 1))
        return run.err("invalid write argument:" + printable(words[0], 60));
    if (words.size() < 2) return run.err("too few arguments for keyword:" + printable(keyword, 60));
    const auto job = parse_number<std::uint32_t>(words[1], 1);
    if (!job) return run.err("job script retrieval failed: " + invalid_job());
    const auto script = run.cluster.job_script(*job);
    if (!script) return run.err("job script retrieval failed: " + script.error().message());
    const std::string number = std::to_string(*job);
    const std::string path = words.size() > 2 ? std::string(words[2]) : "slurm-" + number + ".sh";
    if (path == "-") {
        run.output.out(*script);
        return kOk;
    }
    const Status written = write_file(path, *script);
    if (!written) return run.error("failed to open file `" + written.error().message() + "`");
    run.output.out("batch script for job " + number + " written to " + path + "\n");
    return kOk;
}

}  // namespace twinyard::cli
