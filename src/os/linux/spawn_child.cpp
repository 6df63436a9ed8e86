#include "os/linux/spawn_child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

// Runs between fork and exec in a child of a process with threads: any of them may have held any
// lock when we forked. So nothing here may allocate, log or throw; each step is one function that
// gives 0 or errno, run_child() calls them in the order that spawn.h promises and reports the first
// that fails.

namespace twinyard::os {

namespace {

int errno_of(long result) {
    return result < 0 ? errno : 0;
}

[[noreturn]] void report_and_exit(int fd, SpawnStage stage, int number) {
    const ChildReport report{static_cast<int>(stage), number};
    // Smaller than PIPE_BUF, so written whole or not at all.
    [[maybe_unused]] const ssize_t count = ::write(fd, &report, sizeof report);
    ::_exit(127);
}

void reset_signals() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        ::sigaction(signal, &standard, nullptr);
}

int enter_container(const ContainerEntry& entry) {
    for (const Fd& file : entry.procs_files) {
        // "0" is the writer itself.
        if (::write(file.get(), "0", 1) != 1) return errno;
    }
    return 0;
}

int apply_limit(const ResourceLimit& limit, bool privileged) {
    struct rlimit now {};
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    if (::getrlimit(resource, &now) != 0) return errno;
    rlim_t hard = limit.hard ? static_cast<rlim_t>(*limit.hard) : now.rlim_max;
    rlim_t soft = limit.soft;
    if (privileged) {
        hard = std::max(hard, soft);
    } else {
        hard = std::min(hard, now.rlim_max);
        soft = std::min(soft, hard);
    }
    const struct rlimit wanted { soft, hard };
    return errno_of(::setrlimit(resource, &wanted));
}

int set_affinity(const std::vector<int>& cpus) {
    if (cpus.empty()) return 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
        if (cpu < 0 || cpu >= CPU_SETSIZE) return EINVAL;
        CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    return errno_of(::sched_setaffinity(0, sizeof set, &set));
}

int set_nice(int nice) {
    return errno_of(::setpriority(PRIO_PROCESS, 0, nice));
}

int set_oom_score(int score) {
    char text[16];
    char* at = text + sizeof text;
    unsigned rest = score < 0 ? static_cast<unsigned>(-score) : static_cast<unsigned>(score);
    do {
        *--at = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (score < 0) *--at = '-';
    const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    const int number = errno_of(::write(fd, at, static_cast<std::size_t>(text + sizeof text - at)));
    ::close(fd);
    return number;
}

int apply_limits(const SpawnRequest& request) {
    const bool privileged = ::geteuid() == 0;
    for (const ResourceLimit& limit : request.limits) {
        if (const int number = apply_limit(limit, privileged)) return number;
    }
    if (const int number = set_affinity(request.affinity)) return number;
    if (request.nice) {
        if (const int number = set_nice(*request.nice)) return number;
    }
    return request.oom_score_adjust ? set_oom_score(*request.oom_score_adjust) : 0;
}

/// Groups, then gid, then uid: the other order would lack the rights for the rest. Raw calls, as
/// glibc's wrappers would signal threads that do not exist in the child.
int become(const Identity& who) {
    if (::syscall(SYS_setgroups, who.groups.size(), who.groups.data()) != 0) return errno;
    if (::syscall(SYS_setresgid, who.gid, who.gid, who.gid) != 0) return errno;
    if (::syscall(SYS_setresuid, who.uid, who.uid, who.uid) != 0) return errno;
    if (::getuid() != who.uid || ::geteuid() != who.uid || ::getegid() != who.gid) return EPERM;
    // The way back must be shut.
    const bool back = who.uid != 0 && ::syscall(SYS_setresuid, 0, 0, 0) == 0;
    return back ? EPERM : 0;
}

int open_path(const PathStream& stream) {
    const int fd =
        ::open(stream.path.c_str(), stream.flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, stream.mode);
    if (fd < 0) return -1;
    const int flags = ::fcntl(fd, F_GETFL);
    const bool blocking = (stream.flags & O_NONBLOCK) == 0;
    if (blocking && ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) return -1;
    return fd;
}

/// Moves a descriptor out of the way of all targets; -1 and errno when that fails. Closes nothing:
/// the old number is either a target, or close-on-exec by then.
int move_up(int fd, const ChildPlan& plan) {
    return fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, plan.spare_fd_first);
}

constexpr int kInherit = -2;
constexpr int kLikeStdout = -3;

/// The descriptor for a stream, above all targets; one of the marks above; or -1 and errno.
int source_of(const Stream& stream, const ChildPlan& plan) {
    if (const auto* given = std::get_if<FdStream>(&stream)) return move_up(given->fd, plan);
    if (const auto* path = std::get_if<PathStream>(&stream)) return move_up(open_path(*path), plan);
    return std::holds_alternative<SameAsStdout>(stream) ? kLikeStdout : kInherit;
}

int place(int source, int target) {
    if (source == kInherit) return 0;
    return errno_of(::dup2(source == kLikeStdout ? STDOUT_FILENO : source, target));
}

void must(int number, SpawnStage stage, int report_fd) {
    if (number != 0) report_and_exit(report_fd, stage, number);
}

/// All sources are opened and moved up first, as a source may be another stream's target number.
void set_up_streams(const ChildPlan& plan, int report_fd) {
    constexpr std::size_t kExtraMax = 64;
    const SpawnRequest& request = *plan.request;
    const Stream* streams[3] = {
        &request.stdin_stream, &request.stdout_stream, &request.stderr_stream};
    const SpawnStage stages[3] = {SpawnStage::Stdin, SpawnStage::Stdout, SpawnStage::Stderr};
    int sources[3] = {kInherit, kInherit, kInherit};
    int extra[kExtraMax];
    if (request.fds.size() > kExtraMax) report_and_exit(report_fd, SpawnStage::Prepare, E2BIG);

    for (int i = 0; i < 3; ++i) {
        sources[i] = source_of(*streams[i], plan);
        if (sources[i] == -1) report_and_exit(report_fd, stages[i], errno);
    }
    for (std::size_t i = 0; i < request.fds.size(); ++i) {
        extra[i] = move_up(request.fds[i].first, plan);
        if (extra[i] < 0) report_and_exit(report_fd, SpawnStage::Prepare, errno);
    }
    must(errno_of(::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */)),
         SpawnStage::Prepare,
         report_fd);
    for (int i = 0; i < 3; ++i)
        must(place(sources[i], i), stages[i], report_fd);
    for (std::size_t i = 0; i < request.fds.size(); ++i) {
        must(errno_of(::dup2(extra[i], request.fds[i].second)), SpawnStage::Prepare, report_fd);
    }
}

/// 0, or errno when the folder could not be entered and /tmp neither. `missed` is errno of a folder
/// replaced by /tmp.
int enter_folder(const SpawnRequest& request, int& missed) {
    if (request.cwd.empty() || ::chdir(request.cwd.c_str()) == 0) return 0;
    missed = errno;
    if (!request.cwd_fallback_to_tmp) return missed;
    return errno_of(::chdir("/tmp"));
}

void say(const char* text) {
    [[maybe_unused]] const ssize_t count = ::write(STDERR_FILENO, text, std::strlen(text));
}

void say_folder_missed(const SpawnRequest& request, int number) {
    say("error: couldn't chdir to ");
    say(request.cwd.c_str());
    say(": ");
    say(strerrordesc_np(number));
    say(": going to /tmp instead\n");
}

/// As execvp does: goes on along PATH, and "not executable" is told before "not found".
int execute(const ChildPlan& plan) {
    int result = ENOENT;
    for (const std::string& program : plan.programs) {
        ::execve(program.c_str(), plan.argv.data(), plan.environment.data());
        if (errno == EACCES) result = EACCES;
        if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return errno;
    }
    return result;
}

}  // namespace

void run_child(const ChildPlan& plan) {
    const SpawnRequest& request = *plan.request;
    const int report = ::fcntl(plan.report_fd, F_DUPFD_CLOEXEC, plan.spare_fd_first);
    if (report < 0) report_and_exit(plan.report_fd, SpawnStage::Prepare, errno);
    reset_signals();
    if (request.new_session) ::setsid();
    must(enter_container(plan.container), SpawnStage::Container, report);
    if (!request.namespaces.empty()) {
        must(enter_namespaces(request.namespaces, plan.uid_map, plan.gid_map),
             SpawnStage::Namespace,
             report);
    }
    must(apply_limits(request), SpawnStage::Limits, report);
    if (plan.change_identity) must(become(*request.identity), SpawnStage::Identity, report);
    if (request.umask) ::umask(*request.umask);
    int missed = 0;
    must(enter_folder(request, missed), SpawnStage::Directory, report);
    set_up_streams(plan, report);
    if (missed != 0) say_folder_missed(request, missed);
    if (request.new_session && request.controlling_terminal) {
        must(errno_of(::ioctl(STDIN_FILENO, TIOCSCTTY, 0)), SpawnStage::Terminal, report);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    report_and_exit(report, SpawnStage::Exec, execute(plan));
}

}  // namespace twinyard::os
