// The three verbs. `up`: options → plan → lock → supervisor in a child of its own session → wait
// until ready. `down`: end the jobs → tell the supervisor → wait until its lock is free.
#include "up/verbs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/flags.h"
#include "base/hostlist.h"
#include "os/files.h"
#include "os/log.h"
#include "os/process_id.h"
#include "up/cluster_plan.h"
#include "up/supervisor.h"
#include "up/watch_cluster.h"

namespace twinyard::up {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Millis kReadyWait{60'000};
// KillWait may be 30 s and more; this is how long nothing at all may end.
constexpr Millis kJobsEndWait{120'000};
constexpr std::chrono::seconds kStopWait{30};
constexpr std::chrono::milliseconds kPoll{20};

constexpr const char* kUpHelp =
    "twinyard up --dir D [options]: starts a cluster in the folder D, or what is missing of it\n"
    "  --detach           return once every node has registered; else stay, and end it at Ctrl-C\n"
    "  --nodes N          N real agents on this host, n1 to nN (default: this machine, one)\n"
    "  --cpus C           cpus of each node        --memory M   memory of each, such as 16G\n"
    "  --gpus TYPE:COUNT  declared GPUs of each node, such as h100:8; they are believed\n"
    "  --config FILE      a slurm.conf; its first N nodes get an agent\n"
    "  --emulate SPEC     nodes in memory that run no scripts: "
    "nodes=64,gpus=h100:8,cpus=96,memory=1000G\n"
    "Without options on a folder that was used before: the same as then.\n";
constexpr const char* kDownHelp =
    "twinyard down --dir D [--keep-jobs]: ends the jobs and stops the cluster in the folder D\n"
    "  --keep-jobs        leave running jobs alone; the next `twinyard up` finds them\n";
constexpr const char* kStatusHelp =
    "twinyard status --dir D [--json]: the processes of the cluster in the folder D\n";

bool asks_for_help(std::span<const char* const> args) {
    return args.size() == 1 &&
           (std::string_view(args[0]) == "--help" || std::string_view(args[0]) == "-h");
}

int say(const char* text) {
    std::fputs(text, stdout);
    return 0;
}

int complain(const char* verb, const Error& error) {
    std::fprintf(stderr, "twinyard %s: %s\n", verb, error.message().c_str());
    return 1;
}

/// In the child: everything of the terminal is let go, then it supervises until told to stop.
[[noreturn]] void be_supervisor(const ClusterPlan& plan, int ready_pipe) {
    setsid();
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {0, 1, 2})
        dup2(null, fd);
    os::open_log(log_file(plan.dir, "supervisor"), os::LogLevel::Info);
    (void)os::write_pid_file(pid_file(plan.dir, "supervisor"), os::own_process_id());
    const Status done = supervise(plan, [ready_pipe] {
        (void)!write(ready_pipe, "+", 1);
        close(ready_pipe);
    });
    if (!done) {
        os::log_error("{}", done.error().message());
        (void)!write(ready_pipe, done.error().message().data(), done.error().message().size());
    }
    (void)unlink(pid_file(plan.dir, "supervisor").c_str());
    std::_Exit(done ? 0 : 1);
}

Status start_supervisor(const ClusterPlan& plan) {
    TRY(os::Fd lock, lock_cluster(plan.dir));
    TRY(os::Pipe pipe, os::make_pipe());
    const pid_t child = fork();
    if (child < 0) return fail(os::system_error(errno, "fork"));
    if (child == 0) {
        pipe.read_end.reset();
        be_supervisor(plan, pipe.write_end.get());
    }
    pipe.write_end.reset();
    lock.reset();  // The child holds it by the same open file.
    std::string word(512, '\0');
    const ssize_t got = read(pipe.read_end.get(), word.data(), word.size());
    if (got == 1 && word[0] == '+') return {};
    word.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return fail(ErrorCode::Unavailable,
                word.empty()
                    ? "the supervisor ended at once; see " + log_file(plan.dir, "supervisor")
                    : word);
}

Status make_cluster_folder(const std::string& dir) {
    if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST)
        return fail(os::system_error(errno, "make " + dir));
    if (mkdir((dir + "/run").c_str(), 0755) != 0 && errno != EEXIST)
        return fail(os::system_error(errno, "make " + dir + "/run"));
    return {};
}

Result<ClusterPlan> bring_up(UpOptions options) {
    TRY_STATUS(make_cluster_folder(options.dir));
    {
        // Refused before anything in the folder is touched.
        TRY(const os::Fd lock, lock_cluster(options.dir));
    }
    if (options.says_nothing()) {
        const bool detach = options.detach;
        auto kept = load_options(options.dir);
        if (!kept && kept.error().code() == ErrorCode::Corrupt)
            return fail(std::move(kept).error());
        if (kept) options = std::move(*kept);
        options.detach = detach;
    }
    TRY(ClusterPlan plan, make_plan(options));
    TRY_STATUS(prepare_folder(options, plan));
    TRY_STATUS(start_supervisor(plan));
    TRY_STATUS(wait_until_ready(options.dir, plan.nodes, kReadyWait));
    return plan;
}

void wait_for_signal(sigset_t& set) {
    int signal = 0;
    sigwait(&set, &signal);
}

Status stop_supervisor(const std::string& dir) {
    const auto holder = os::read_pid_file(pid_file(dir, "supervisor"));
    if (holder && os::is_alive(*holder)) TRY_STATUS(os::send_signal(*holder, SIGTERM));
    const auto deadline = Clock::now() + kStopWait;
    while (Clock::now() < deadline) {
        if (os::lock_file(dir + "/run/lock")) return {};
        std::this_thread::sleep_for(kPoll);
    }
    return fail(ErrorCode::Unavailable,
                "the supervisor does not end; see " + log_file(dir, "supervisor"));
}

bool is_supervised(const std::string& dir) {
    return !os::lock_file(dir + "/run/lock").has_value();
}

bool any_daemon_lives(const UpOptions& options) {
    const auto plan = make_plan(options);
    if (!plan) return access(socket_file(options.dir).c_str(), F_OK) == 0;
    return std::ranges::any_of(plan->processes, [&](const Process& process) {
        const auto id = os::read_pid_file(pid_file(options.dir, process.name));
        return id && os::is_alive(*id);
    });
}

Status bring_down(const std::string& dir, bool keep_jobs) {
    if (access((dir + "/run").c_str(), F_OK) != 0)
        return fail(ErrorCode::NotFound, dir + " holds no cluster");
    if (!is_supervised(dir)) {
        // Its supervisor was killed, or it is down already: brought up by the book it can be taken
        // down by the book.
        const auto kept = load_options(dir);
        if (!kept || !any_daemon_lives(*kept)) return {};
        TRY_STATUS(bring_up(*kept));
    }
    if (!keep_jobs) {
        auto ended = end_all_jobs(dir, kJobsEndWait);
        if (!ended) return fail(std::move(ended).error().in("end the jobs"));
    }
    TRY_STATUS(stop_supervisor(dir));
    // Its lock outlives a killed supervisor by a moment: it looked alive, and stopped nobody.
    if (access(socket_file(dir).c_str(), F_OK) != 0) return {};
    TRY_STATUS(bring_up(UpOptions{.dir = dir, .detach = true}));
    return stop_supervisor(dir);
}

}  // namespace

int run_up(std::span<const char* const> args) {
    if (asks_for_help(args)) return say(kUpHelp);
    auto options = parse_up(args);
    if (!options) return complain("up", options.error());
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    const bool detach = options->detach;
    const std::string dir = options->dir;
    const auto plan = bring_up(std::move(*options));
    if (!plan) return complain("up", plan.error());
    std::printf("%zu %snode%s up: %s\n",
                plan->nodes.size(),
                plan->processes.back().emulated ? "emulated " : "",
                plan->nodes.size() == 1 ? "" : "s",
                fold_hostlist(plan->nodes).c_str());
    std::printf(
        "use it:   . %s/env.sh\nstop it:  twinyard down --dir %s\n", dir.c_str(), dir.c_str());
    std::fflush(stdout);
    if (detach) return 0;
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    wait_for_signal(ends);
    const Status down = bring_down(dir, false);
    return down ? 0 : complain("up", down.error());
}

int run_down(std::span<const char* const> args) {
    if (asks_for_help(args)) return say(kDownHelp);
    std::string dir;
    bool keep_jobs = false;
    const Status parsed = parse_flags(
        args, {{.name = "--dir", .value = &dir}, {.name = "--keep-jobs", .given = &keep_jobs}});
    if (!parsed) return complain("down", parsed.error());
    if (dir.empty()) return complain("down", Error(ErrorCode::InvalidArgument, "--dir is missing"));
    const Status down = bring_down(absolute(dir), keep_jobs);
    return down ? 0 : complain("down", down.error());
}

int run_status(std::span<const char* const> args) {
    if (asks_for_help(args)) return say(kStatusHelp);
    std::string dir;
    bool json = false;
    const Status parsed =
        parse_flags(args, {{.name = "--dir", .value = &dir}, {.name = "--json", .given = &json}});
    if (!parsed) return complain("status", parsed.error());
    if (dir.empty())
        return complain("status", Error(ErrorCode::InvalidArgument, "--dir is missing"));
    dir = absolute(dir);
    const auto options = load_options(dir);
    if (!options) return complain("status", Error(ErrorCode::NotFound, dir + " holds no cluster"));
    const auto plan = make_plan(*options);
    if (!plan) return complain("status", plan.error());
    const auto pid_of = [&](const std::string& name) {
        const auto id = os::read_pid_file(pid_file(dir, name));
        return id && os::is_alive(*id) ? id->pid : 0;
    };
    std::string agents;
    int stopped = 0;
    for (const Process& process : plan->processes) {
        const pid_t pid = pid_of(process.name);
        stopped += pid == 0 ? 1 : 0;
        if (!json)
            std::printf("%-20s %s\n",
                        process.name.c_str(),
                        pid == 0 ? "down" : ("pid " + std::to_string(pid)).c_str());
        if (process.node.empty()) continue;
        agents += std::string(agents.empty() ? "" : ",") + "{\"node\":\"" + process.node +
                  "\",\"pid\":" + std::to_string(pid) +
                  (process.emulated ? ",\"emulated\":true}" : "}");
    }
    if (json) {
        std::printf("{\"controller\":{\"pid\":%d},\"supervisor\":{\"pid\":%d},\"agents\":[%s]}\n",
                    pid_of("controller"),
                    pid_of("supervisor"),
                    agents.c_str());
    }
    return stopped == 0 ? 0 : 1;
}

}  // namespace twinyard::up
