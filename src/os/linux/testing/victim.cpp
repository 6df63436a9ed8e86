// The processes that the tests start and must get rid of again, one way of hiding or staying a
// mode:
//   args               prints its arguments, one a line
//   ids                prints uid, gid and groups
//   environment        prints its environment
//   double-fork DIR    a daemon: fork, setsid, fork, parents exit
//   hidden-daemon DIR  the same, with an empty environment
//   bomb DIR N         forks without end, at most N alive below one parent, all ignoring TERM
//   runner DIR         forks and exits, over and over, so that it is never at one pid for long
//   ignore-term DIR    ignores TERM
//   ends-by-usr1 DIR   exits when its handler of USR1 runs
//   burn MS            uses the processor for so long
//   eat MEGABYTES      writes to so much memory
// Those with DIR make the file DIR/PID once they are in place, and then stay.

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace {

void announce(const std::string& folder) {
    const std::string path = folder + '/' + std::to_string(::getpid());
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

[[noreturn]] void stay(const std::string& folder) {
    announce(folder);
    while (true)
        ::pause();
}

int print_ids() {
    std::printf("%d %d", static_cast<int>(::getuid()), static_cast<int>(::getgid()));
    gid_t groups[64];
    const int count = ::getgroups(64, groups);
    for (int i = 0; i < count; ++i)
        std::printf(" %d", static_cast<int>(groups[i]));
    std::printf("\n");
    return 0;
}

int print_environment() {
    for (char** variable = environ; *variable != nullptr; ++variable)
        std::puts(*variable);
    return 0;
}

/// Returns once the parent `pid` is gone, so that nobody else of us is left when we announce
/// ourselves.
void outlive(pid_t pid) {
    const struct timespec moment = {0, 1000 * 1000};
    while (::getppid() == pid)
        ::nanosleep(&moment, nullptr);
}

int become_daemon(const std::string& folder, char** program, bool hidden) {
    const pid_t first = ::getpid();
    if (::fork() != 0) return 0;
    ::setsid();
    outlive(first);
    const pid_t second = ::getpid();
    if (::fork() != 0) return 0;
    outlive(second);
    if (!hidden) stay(folder);
    char mode[] = "ignore-term";
    std::string name = folder;
    char* arguments[] = {program[0], mode, name.data(), nullptr};
    char* nothing[] = {nullptr};
    ::execve(program[0], arguments, nothing);
    return 1;
}

[[noreturn]] void bomb(const std::string& folder, int alive_max) {
    ::signal(SIGTERM, SIG_IGN);
    announce(folder);
    int alive = 0;
    while (true) {
        const pid_t pid = alive < alive_max ? ::fork() : -1;
        if (pid == 0) {
            // Each child forks once more and goes, so that pids change all the time and orphans
            // abound.
            if (::fork() != 0) ::_exit(0);
            ::setsid();
            struct timespec moment = {0, 20 * 1000 * 1000};
            while (true) {
                ::nanosleep(&moment, nullptr);
                if (::fork() != 0) ::_exit(0);
            }
        }
        if (pid > 0) {
            ++alive;
            ::waitpid(pid, nullptr, 0);
        } else {
            struct timespec moment = {0, 1000 * 1000};
            ::nanosleep(&moment, nullptr);
        }
    }
}

[[noreturn]] void run_away(const std::string& folder) {
    announce(folder);
    const struct timespec moment = {0, 200 * 1000};
    while (true) {
        if (::fork() != 0) ::_exit(0);
        ::nanosleep(&moment, nullptr);
    }
}

int burn(long milliseconds) {
    volatile unsigned long work = 0;
    while (::clock() / (CLOCKS_PER_SEC / 1000) < milliseconds)
        work = work + 1;
    return 0;
}

int eat(std::size_t megabytes) {
    std::vector<char*> kept;
    for (std::size_t i = 0; i < megabytes; ++i) {
        kept.push_back(static_cast<char*>(std::malloc(std::size_t{1} << 20)));
        std::memset(kept.back(), 1, std::size_t{1} << 20);
    }
    return kept.size() == megabytes ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const std::string value = argc > 2 ? argv[2] : "";
    if (mode == "args") {
        for (int i = 1; i < argc; ++i)
            std::puts(argv[i]);
        return 0;
    }
    if (mode == "ids") return print_ids();
    if (mode == "environment") return print_environment();
    if (mode == "double-fork") return become_daemon(value, argv, false);
    if (mode == "hidden-daemon") return become_daemon(value, argv, true);
    if (mode == "bomb") bomb(value, std::atoi(argv[3]));
    if (mode == "runner") run_away(value);
    if (mode == "ignore-term") {
        ::signal(SIGTERM, SIG_IGN);
        stay(value);
    }
    if (mode == "ends-by-usr1") {
        ::signal(SIGUSR1, [](int) { ::_exit(0); });
        stay(value);
    }
    if (mode == "burn") return burn(std::atol(value.c_str()));
    if (mode == "eat") return eat(static_cast<std::size_t>(std::atol(value.c_str())));
    return 64;
}
