#include "up/supervisor.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include "os/files.h"
#include "os/log.h"
#include "os/process_id.h"
#include "os/spawn.h"
#include "rpc/loop.h"

namespace twinyard::up {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Millis kRestartMin{100};
constexpr Millis kRestartMax{5'000};
constexpr std::chrono::seconds kCountsAsStable{10};
// An agent hands everything to its step daemons at once; the controller commits what is open for at
// most 5 s.
constexpr Millis kStopWait{8'000};

std::vector<std::string> own_environment() {
    std::vector<std::string> env;
    for (char** entry = environ; *entry != nullptr; ++entry)
        env.emplace_back(*entry);
    return env;
}

class Supervisor {
  public:
    explicit Supervisor(const ClusterPlan& plan) : plan_(plan) {
        for (const Process& process : plan.processes)
            daemons_.push_back(std::make_unique<Daemon>(Daemon{.process = process}));
    }

    Status run(const std::function<void()>& started) {
        const auto reap = loop_.on_child_exit([](const rpc::ChildExit&) {});
        const auto on_term = loop_.on_signal(SIGTERM, [this] { stop(); });
        const auto on_int = loop_.on_signal(SIGINT, [this] { stop(); });
        for (auto& daemon : daemons_)
            TRY_STATUS(start_or_adopt(*daemon));
        started();
        loop_.run();
        return {};
    }

  private:
    struct Daemon {
        Process process;
        os::ProcessId id;
        bool alive = false;
        os::Fd pidfd;
        rpc::Watch watch;
        rpc::Timer restart;
        Clock::time_point since{};
        Millis delay = kRestartMin;
    };

    Status start_or_adopt(Daemon& daemon) {
        const auto kept = os::read_pid_file(pid_file(plan_.dir, daemon.process.name));
        if (kept && os::is_alive(*kept)) {
            os::log_info("{} runs already, pid {}", daemon.process.name, kept->pid);
            return watch(daemon, *kept);
        }
        return start(daemon);
    }

    Status start(Daemon& daemon) {
        const std::string log = log_file(plan_.dir, daemon.process.name);
        os::SpawnRequest request{.argv = daemon.process.argv, .env = own_environment(), .cwd = "/"};
        request.stdin_stream = os::PathStream{"/dev/null", O_RDONLY, 0};
        request.stdout_stream = os::PathStream{log, O_WRONLY | O_CREAT | O_APPEND, 0644};
        request.stderr_stream = os::SameAsStdout{};
        const auto spawned = os::spawn(request);
        if (!spawned)
            return fail(ErrorCode::Unavailable,
                        daemon.process.name + ": " + spawned.error().message);
        os::log_info("started {}, pid {}", daemon.process.name, spawned->pid);
        TRY_STATUS(os::write_pid_file(pid_file(plan_.dir, daemon.process.name), *spawned));
        return watch(daemon, *spawned);
    }

    Status watch(Daemon& daemon, const os::ProcessId& id) {
        daemon.id = id;
        daemon.alive = true;
        daemon.since = Clock::now();
        daemon.watch = {};
        daemon.pidfd = os::Fd(static_cast<int>(syscall(SYS_pidfd_open, id.pid, 0)));
        if (daemon.pidfd.get() < 0)
            return fail(os::system_error(errno, "watch " + daemon.process.name));
        daemon.watch = loop_.watch_fd(daemon.pidfd.get(),
                                      rpc::kFdReadable,
                                      [this, &daemon](rpc::FdEvents) { ended(daemon); });
        return {};
    }

    void ended(Daemon& daemon) {
        daemon.watch.cancel();
        daemon.alive = false;
        (void)unlink(pid_file(plan_.dir, daemon.process.name).c_str());
        if (stopping_) {
            go_on_stopping();
            return;
        }
        if (Clock::now() - daemon.since > kCountsAsStable) daemon.delay = kRestartMin;
        os::log_warning("{} (pid {}) has ended; starting it again in {} ms",
                        daemon.process.name,
                        daemon.id.pid,
                        daemon.delay.count());
        daemon.restart = loop_.after(daemon.delay, [this, &daemon] { restart(daemon); });
        daemon.delay = std::min(kRestartMax, daemon.delay * 2);
    }

    void restart(Daemon& daemon) {
        const Status started = start(daemon);
        if (started || stopping_) return;
        os::log_error("{}", started.error().message());
        daemon.restart = loop_.after(kRestartMax, [this, &daemon] { restart(daemon); });
    }

    void stop() {
        if (stopping_) return;
        stopping_ = true;
        for (auto& daemon : daemons_)
            daemon->restart.cancel();
        for (auto& daemon : daemons_) {
            if (is_agent(*daemon) && daemon->alive) (void)os::send_signal(daemon->id, SIGTERM);
        }
        kill_timer_ = loop_.after(kStopWait, [this] { kill_left(); });
        go_on_stopping();
    }

    static bool is_agent(const Daemon& daemon) { return !daemon.process.node.empty(); }

    /// Agents first, so that the controller still hears their last words.
    void go_on_stopping() {
        const bool agents_left =
            std::ranges::any_of(daemons_, [](const auto& d) { return is_agent(*d) && d->alive; });
        if (agents_left) return;
        for (auto& daemon : daemons_) {
            if (daemon->alive && !told_controller_) (void)os::send_signal(daemon->id, SIGTERM);
        }
        told_controller_ = true;
        if (std::ranges::none_of(daemons_, [](const auto& d) { return d->alive; })) loop_.stop();
    }

    void kill_left() {
        for (auto& daemon : daemons_) {
            if (!daemon->alive) continue;
            if (!is_agent(*daemon) && !told_controller_) continue;
            os::log_warning("{} did not end in time; killed", daemon->process.name);
            (void)os::send_signal(daemon->id, SIGKILL);
        }
        kill_timer_ = loop_.after(kStopWait, [this] { kill_left(); });
    }

    const ClusterPlan& plan_;
    rpc::Loop loop_;
    std::vector<std::unique_ptr<Daemon>> daemons_;
    rpc::Timer kill_timer_;
    bool stopping_ = false;
    bool told_controller_ = false;
};

}  // namespace

Result<os::Fd> lock_cluster(const std::string& dir) {
    auto lock = os::lock_file(dir + "/run/lock");
    if (lock || lock.error().code() != ErrorCode::Conflict) return lock;
    const auto holder = os::read_pid_file(pid_file(dir, "supervisor"));
    const std::string pid = holder ? std::to_string(holder->pid) : "unknown";
    return fail(
        ErrorCode::Conflict,
        dir + " is in use by process " + pid + "; stop it with: twinyard down --dir " + dir);
}

Status supervise(const ClusterPlan& plan, const std::function<void()>& started) {
    return Supervisor(plan).run(started);
}

}  // namespace twinyard::up
