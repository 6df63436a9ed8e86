#include "os/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/files.h"
#include "os/linux/spawn_child.h"
#include "os/process_container.h"

namespace twinyard::os {

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

SpawnFailure failure(SpawnStage stage, int number, std::string_view what) {
    return {stage, number, std::string(what) + ": " + strerrordesc_np(number)};
}

std::string_view path_variable(const std::vector<std::string>& environment) {
    for (const std::string& variable : environment) {
        if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
    }
    return kDefaultPath;
}

std::vector<std::string> programs_of(const SpawnRequest& request) {
    const std::string& name = request.argv[0];
    if (name.find('/') != std::string::npos) return {name};
    std::vector<std::string> programs;
    std::string_view rest = path_variable(request.env);
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        programs.push_back(std::string(folder.empty() ? "." : folder) + '/' + name);
        if (colon == std::string_view::npos) return programs;
        rest.remove_prefix(colon + 1);
    }
}

/// exec takes char* but does not write through it.
std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 2);
    for (const std::string& text : texts)
        pointers.push_back(const_cast<char*>(text.c_str()));
    return pointers;
}

int spare_fd_first(const SpawnRequest& request) {
    int last = STDERR_FILENO;
    for (const auto& [ours, target] : request.fds)
        last = std::max(last, target);
    return last + 1;
}

std::expected<ChildPlan, SpawnFailure> make_plan(const SpawnRequest& request) {
    if (request.argv.empty() || request.argv[0].empty()) {
        return std::unexpected(failure(SpawnStage::Exec, ENOENT, "exec"));
    }
    ChildPlan plan;
    plan.request = &request;
    if (request.container != nullptr) {
        Result<ContainerEntry> entry = request.container->entry();
        if (!entry) {
            return std::unexpected(
                SpawnFailure{SpawnStage::Container, EACCES, entry.error().message()});
        }
        plan.container = *std::move(entry);
    }
    if (request.identity) {
        const Identity& who = *request.identity;
        // An ordinary user keeps the groups it has: setgroups is root's.
        const bool same = ::geteuid() == who.uid && ::getegid() == who.gid;
        plan.change_identity = ::geteuid() == 0 || !same;
        if (plan.change_identity && ::geteuid() != 0) {
            return std::unexpected(
                failure(SpawnStage::Identity, EPERM, "become uid " + std::to_string(who.uid)));
        }
    }
    if (!request.namespaces.empty()) {
        IdMaps maps = own_id_maps();
        plan.uid_map = std::move(maps.uid_map);
        plan.gid_map = std::move(maps.gid_map);
    }
    plan.programs = programs_of(request);
    plan.argv = pointers_of(request.argv);
    plan.environment = pointers_of(request.env);
    plan.argv.push_back(nullptr);
    plan.spare_fd_first = spare_fd_first(request);
    return plan;
}

/// Puts our marker in place of one that came with the request (a job that was started from within a
/// job).
void finish_environment(ChildPlan& plan) {
    std::string& marker = plan.container.environment_marker;
    if (!marker.empty()) {
        const std::string name = std::string(kContainerMarker) + '=';
        std::erase_if(plan.environment, [&](const char* variable) {
            return std::strncmp(variable, name.c_str(), name.size()) == 0;
        });
        plan.environment.push_back(marker.data());
    }
    plan.environment.push_back(nullptr);
}

/// Forks with all signals blocked, so that no handler of ours runs in the child.
pid_t fork_child(const ChildPlan& plan) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::_Fork();
    if (pid == 0) run_child(plan);
    const int number = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = number;
    return pid;
}

/// What the child has to say; nothing when its exec worked.
std::optional<ChildReport> read_report(int fd) {
    ChildReport report;
    while (true) {
        const ssize_t count = ::read(fd, &report, sizeof report);
        if (count < 0 && errno == EINTR) continue;
        if (count == static_cast<ssize_t>(sizeof report)) return report;
        return {};
    }
}

std::string subject_of(SpawnStage stage, const SpawnRequest& request) {
    const auto path = [](const Stream& stream) {
        const auto* file = std::get_if<PathStream>(&stream);
        return file != nullptr ? " " + file->path : std::string();
    };
    switch (stage) {
        case SpawnStage::Stdin:
            return path(request.stdin_stream);
        case SpawnStage::Stdout:
            return path(request.stdout_stream);
        case SpawnStage::Stderr:
            return path(request.stderr_stream);
        case SpawnStage::Directory:
            return " " + request.cwd;
        case SpawnStage::Exec:
            return " " + request.argv[0];
        default:
            return {};
    }
}

void reap_failed(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
}

ExitStatus exit_status_of(const ProcessId& id, int status, const rusage& usage) {
    const auto micros = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1000000U +
               static_cast<std::uint64_t>(time.tv_usec);
    };
    ExitStatus exit;
    exit.id = id;
    if (WIFEXITED(status)) exit.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) {
        exit.signal = WTERMSIG(status);
        exit.core_dumped = WCOREDUMP(status);
    }
    exit.user_micros = micros(usage.ru_utime);
    exit.system_micros = micros(usage.ru_stime);
    exit.rss_peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
    return exit;
}

/// Reaps `pid`, which must have ended or be waited for by `options`; nothing when it still runs.
Result<std::optional<ExitStatus>> reap(pid_t pid, int options) {
    // Looked at before it is reaped: afterwards the start time is lost.
    const ProcessId id = process_id(pid).value_or(ProcessId{pid, 0});
    int status = 0;
    rusage usage{};
    while (true) {
        const pid_t got = ::wait4(pid, &status, options, &usage);
        if (got == 0) return std::optional<ExitStatus>();
        if (got > 0) return std::optional(exit_status_of(id, status, usage));
        if (errno == EINTR) continue;
        if (errno == ECHILD) {
            return fail(ErrorCode::NotFound, "no child " + std::to_string(pid));
        }
        return fail(system_error(errno, "wait"));
    }
}

}  // namespace

std::string_view to_string(SpawnStage stage) {
    switch (stage) {
        case SpawnStage::Prepare:
            return "prepare";
        case SpawnStage::Fork:
            return "fork";
        case SpawnStage::Container:
            return "enter container";
        case SpawnStage::Namespace:
            return "enter namespaces";
        case SpawnStage::Limits:
            return "set limits";
        case SpawnStage::Identity:
            return "become the user";
        case SpawnStage::Directory:
            return "chdir";
        case SpawnStage::Stdin:
            return "stdin";
        case SpawnStage::Stdout:
            return "stdout";
        case SpawnStage::Stderr:
            return "stderr";
        case SpawnStage::Terminal:
            return "terminal";
        case SpawnStage::Exec:
            return "exec";
    }
    return "spawn";
}

std::expected<ProcessId, SpawnFailure> spawn(const SpawnRequest& request) {
    std::expected<ChildPlan, SpawnFailure> plan = make_plan(request);
    if (!plan) return std::unexpected(std::move(plan).error());
    finish_environment(*plan);
    Result<Pipe> pipe = make_pipe();
    if (!pipe) return std::unexpected(failure(SpawnStage::Prepare, EMFILE, "pipe"));
    plan->report_fd = pipe->write_end.get();

    const pid_t pid = fork_child(*plan);
    if (pid < 0) return std::unexpected(failure(SpawnStage::Fork, errno, "fork"));
    const ProcessId id = process_id(pid).value_or(ProcessId{pid, 0});
    pipe->write_end.reset();
    if (const std::optional<ChildReport> report = read_report(pipe->read_end.get())) {
        reap_failed(pid);
        const auto stage = static_cast<SpawnStage>(report->stage);
        return std::unexpected(failure(stage,
                                       report->error_number,
                                       std::string(to_string(stage)) + subject_of(stage, request)));
    }
    // A child that entered cgroups by itself is known there; one that could not is told.
    if (request.container != nullptr && plan->container.procs_files.empty()) {
        // It may have ended already, which is its own affair.
        [[maybe_unused]] const Status told = request.container->add_pid(pid);
    }
    return id;
}

std::optional<ExitStatus> reap_any() {
    siginfo_t info{};
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno != EINTR) return {};
    }
    if (info.si_pid == 0) return {};
    Result<std::optional<ExitStatus>> exit = reap(info.si_pid, WNOHANG);
    return exit ? *std::move(exit) : std::nullopt;
}

Result<ExitStatus> wait_for(pid_t pid) {
    TRY(std::optional<ExitStatus> exit, reap(pid, 0));
    if (!exit) return fail(ErrorCode::Unavailable, "wait gave nothing");
    return *std::move(exit);
}

Result<std::optional<ExitStatus>> try_wait_for(pid_t pid) {
    return reap(pid, WNOHANG);
}

Result<PseudoTerminal> open_pseudo_terminal(std::uint16_t rows, std::uint16_t columns) {
    PseudoTerminal terminal;
    terminal.master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal.master) return fail(system_error(errno, "open pseudo terminal"));
    char name[64];
    const bool ready = ::grantpt(terminal.master.get()) == 0 &&
                       ::unlockpt(terminal.master.get()) == 0 &&
                       ::ptsname_r(terminal.master.get(), name, sizeof name) == 0;
    if (!ready) return fail(system_error(errno, "unlock pseudo terminal"));
    terminal.terminal = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal.terminal) return fail(system_error(errno, name));
    TRY_STATUS(resize_terminal(terminal.master.get(), rows, columns));
    return terminal;
}

Status resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns) {
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    if (::ioctl(fd, TIOCSWINSZ, &size) != 0) return fail(system_error(errno, "resize terminal"));
    return {};
}

}  // namespace twinyard::os
