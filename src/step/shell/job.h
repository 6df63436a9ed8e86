#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/agent.h"
#include "base/result.h"
#include "os/namespaces.h"
#include "os/process_container.h"
#include "os/spawn.h"
#include "os/users.h"
#include "rpc/loop.h"
#include "slurm/environment.h"

namespace twinyard::step {

/// The daemon's flags (api/stepd.h).
struct StepdOptions {
    std::string dir, node, node_dir, containers, slurm_conf, bin, log;
    bool node_hostname = false;
    bool cpuset_alone = false;
    int ready_fd = -1;
};

/// Who is told when a child of ours is gone. Loop's thread only.
class Children {
  public:
    explicit Children(rpc::Loop& loop);

    void watch(pid_t pid, std::move_only_function<void(const rpc::ChildExit&)> told);
    void forget(pid_t pid) { told_.erase(pid); }
    /// Runs after each exit, known or adopted.
    void on_any(rpc::Callback fn) { any_ = std::move(fn); }
    /// Of all that ended so far.
    [[nodiscard]] const api::Usage& usage() const { return usage_; }

  private:
    std::map<pid_t, std::move_only_function<void(const rpc::ChildExit&)>> told_;
    rpc::Callback any_;
    api::Usage usage_;
    std::int64_t user_us_ = 0, system_us_ = 0;
    rpc::Watch watch_;
};

[[nodiscard]] api::Usage usage_of(const rpc::ChildExit& exit);

/// The job on this node: what does not change while it runs, and its containers.
struct Job {
    Job(rpc::Loop& the_loop, StepdOptions the_options, api::LaunchOrder the_order)
        : loop(the_loop),
          options(std::move(the_options)),
          order(std::move(the_order)),
          children(loop) {}

    rpc::Loop& loop;
    StepdOptions options;
    api::LaunchOrder order;  ///< With the gang as of Go.
    Children children;
    os::Identity identity;
    slurm::HostFacts host;
    std::unique_ptr<os::ContainerFactory> factory;
    std::unique_ptr<os::ProcessContainer> container;  ///< All of the job on this node.
    os::NamespaceRequest namespaces;
    std::vector<int> affinity;
    bool oom_protected = false;  ///< We are; what we start must not be.
    std::string spool;           ///< Where the user may read: script, socket. Empty: none.
    std::string user_socket;     ///< Path of the socket for the job's own processes.

    [[nodiscard]] std::string file(std::string_view name) const {
        return options.dir + '/' + std::string(name);
    }
    /// What every process of the job has in common; streams, argv and the rest are the caller's.
    [[nodiscard]] os::SpawnRequest spawn_request(std::vector<std::string> environment) const;
    /// Of the whole job on this node so far.
    [[nodiscard]] api::Usage usage() const;
};

/// Identity, facts of the host, containers with their limits, spool: all before Go.
[[nodiscard]] Status prepare(Job& job);
/// The spool folder goes.
void clean_up(Job& job);

/// Writes unless that would wait: a reader that has stopped must not stop the daemon.
void write_now(int fd, std::string_view text);

/// "2026-12-01T10:00:00", local time, now.
[[nodiscard]] std::string local_time_now();

}  // namespace twinyard::step
