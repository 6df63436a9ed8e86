#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/process_id.h"

namespace twinyard::os {

/// What the processes of a container used so far.
struct ContainerUsage {
    std::chrono::nanoseconds cpu{0};
    std::chrono::nanoseconds cpu_user{0};
    std::chrono::nanoseconds cpu_system{0};
    std::uint64_t memory_bytes = 0;
    std::uint64_t memory_peak_bytes = 0;
    int processes = 0;
    /// False when only living processes could be counted (no cgroup): then add the rusage of those
    /// you waited for.
    bool complete = false;
};

/// How a child enters a container before its exec: the descriptors are written "0" to by the child
/// (safe between fork and exec), the variable is added to its environment. spawn() does both.
struct ContainerEntry {
    std::vector<Fd> procs_files;
    std::string environment_marker;  ///< "NAME=value" or empty.
};

/// All processes of one job (or one step of it) on this node, found and ended together, however
/// they forked away. Containers nest by name: "job_42" holds "job_42/step_0"; what is done to the
/// outer one is done to the inner ones. One thread at a time. Errors: Denied and Unavailable with
/// the system's words.
class ProcessContainer {
  public:
    virtual ~ProcessContainer() = default;

    [[nodiscard]] virtual const std::string& name() const = 0;

    /// For spawn(): how a child gets in by itself.
    [[nodiscard]] virtual Result<ContainerEntry> entry() = 0;
    /// Puts a running process in (adoption), or tells the container of a child that used entry().
    /// Idempotent.
    [[nodiscard]] virtual Status add_pid(pid_t pid) = 0;

    /// The processes in it now, without zombies and without the caller's own process; ascending by
    /// pid.
    [[nodiscard]] virtual std::vector<ProcessId> pids() = 0;
    /// Signals each of pids() once. Processes forked meanwhile may be missed: kill_all() is for the
    /// end.
    [[nodiscard]] virtual Status signal_all(int signal) = 0;
    /// Stops, or lets go on, all processes; without cgroups by SIGSTOP and SIGCONT. Back when they
    /// stand still (half a second at most). A frozen process runs no code, but a signal that it
    /// does not handle may end it (v2).
    [[nodiscard]] virtual Status freeze() = 0;
    [[nodiscard]] virtual Status thaw() = 0;
    /// SIGKILL to all until none is left, fork bombs too (frozen first). Blocks; Unavailable naming
    /// the pids when some are still there after `patience` (processes stuck in the kernel): call it
    /// again later.
    [[nodiscard]] virtual Status kill_all(Millis patience) = 0;

    // Limits. Unavailable where no such controller is to be had: the caller decides whether that
    // matters.
    [[nodiscard]] virtual Status set_cpuset(std::span<const int> cpus) = 0;
    [[nodiscard]] virtual Status set_memory_limit(std::uint64_t bytes) = 0;
    /// Forbids opening a device ("c MAJOR:MINOR").
    [[nodiscard]] virtual Status deny_device(unsigned major_number, unsigned minor_number) = 0;

    [[nodiscard]] virtual ContainerUsage usage() = 0;
    /// How many processes the kernel killed for want of memory in it.
    [[nodiscard]] virtual std::uint64_t oom_kills() = 0;

    /// Gives the container back, inner ones too. It must be empty (kill_all before); retries while
    /// the kernel still clears up, for `patience`. Absent is fine.
    [[nodiscard]] virtual Status remove(Millis patience) = 0;
};

/// Which controllers may be used. All on by default; tests and the configuration turn some off.
struct ContainerOptions {
    bool cgroup_v1 = true;
    bool cgroup_v2 = true;
};

/// Makes the containers of one node. `base` names the node on this host and must differ between
/// nodes that share it
/// ("twinyard_<cluster>_<node>"): the cgroups lie under it, and it is in the environment marker.
/// What was found is fixed when it is made; agent and step daemon make their own with the same base
/// and options and see the same containers. One thread at a time.
class ContainerFactory {
  public:
    virtual ~ContainerFactory() = default;

    /// One line for `scontrol show node`: "cgroup v1: cpuset,memory,freezer" or
    /// "process groups and sub-reaper (no permission for cgroups)".
    [[nodiscard]] virtual const std::string& describe() const = 0;

    [[nodiscard]] virtual bool limits_cpus() const = 0;
    [[nodiscard]] virtual bool limits_memory() const = 0;
    [[nodiscard]] virtual bool limits_devices() const = 0;

    /// Makes a container, or takes up the one that is there. Name: segments of [A-Za-z0-9_.-]
    /// joined by '/', no ".."; outer containers are made too. `reaper`: without cgroups, every
    /// descendant of this process is in the container (a job's step daemon after
    /// become_subreaper()); 0 for none, as for steps.
    [[nodiscard]] virtual Result<std::unique_ptr<ProcessContainer>> create(std::string_view name,
                                                                           pid_t reaper) = 0;

    /// Names of the outer containers that are left of earlier runs ("job_42"); without cgroups
    /// those whose processes still carry the marker.
    [[nodiscard]] virtual std::vector<std::string> existing() = 0;

    /// Removes the base itself when the node stops. Containers left in it are an error.
    [[nodiscard]] virtual Status remove_base() = 0;
};

/// Finds out, per controller, what this process may use, and makes the factory. Falls back to
/// process groups, sub-reaper and the environment marker where no cgroup may be made.
/// InvalidArgument for a bad base.
[[nodiscard]] Result<std::unique_ptr<ContainerFactory>> detect_containers(
    std::string_view base, const ContainerOptions& options = {});

/// The environment variable by which processes are found where there are no cgroups. Its value is
/// base + "/" + name.
inline constexpr std::string_view kContainerMarker = "TWINYARD_WORKLOAD";

}  // namespace twinyard::os
