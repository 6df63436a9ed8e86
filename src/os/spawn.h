#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/namespaces.h"
#include "os/process_id.h"
#include "os/users.h"

namespace twinyard::os {

class ProcessContainer;

/// stdin, stdout or stderr of a child: the parent's own, a descriptor (borrowed for the call), or a
/// path.
struct InheritStream {};
struct FdStream {
    int fd = -1;
};
/// Opened by the child itself, as the user, after umask and chdir; never blocks on a FIFO.
struct PathStream {
    std::string path;
    int flags = 0;       ///< O_RDONLY, or O_WRONLY|O_CREAT|O_TRUNC, ...
    mode_t mode = 0666;  ///< Less the request's umask.
};
/// The same open file as stdout (for stderr alone).
struct SameAsStdout {};
using Stream = std::variant<InheritStream, FdStream, PathStream, SameAsStdout>;

/// A limit of RLIMIT_*. RLIM_INFINITY (~0) is no limit. Values above our hard limit are cut to it
/// when we are not root.
struct ResourceLimit {
    int resource = 0;
    std::uint64_t soft = 0;
    std::optional<std::uint64_t> hard;  ///< Absent: the hard limit stays.
};

/// How to start a program. Values a child needs are all here: nothing is looked up after the fork.
struct SpawnRequest {
    std::vector<std::string>
        argv;  ///< [0] may lack a slash: then it is looked for in PATH of `env`, as the user.
    std::vector<std::string> env;  ///< "NAME=value"; the whole environment.
    std::string cwd;               ///< Empty: stays.
    /// What to do when cwd cannot be entered: go to /tmp and say so on the child's stderr (as Slurm
    /// does), or fail.
    bool cwd_fallback_to_tmp = true;
    std::optional<Identity>
        identity;  ///< Absent: stays who we are. Needs root unless it is what we are.
    std::optional<mode_t> umask;
    std::vector<ResourceLimit> limits;
    std::optional<int> nice;
    std::vector<int> affinity;  ///< Linux cpu numbers; empty: stays.
    std::optional<int> oom_score_adjust;
    Stream stdin_stream = InheritStream{};
    Stream stdout_stream = InheritStream{};
    Stream stderr_stream = InheritStream{};
    /// Further descriptors: {ours, the child's number (3 or more)}. All others are closed at exec.
    std::vector<std::pair<int, int>> fds;
    bool new_session = true;  ///< setsid(): own session and process group.
    bool controlling_terminal =
        false;  ///< With new_session: the terminal at stdin becomes the session's own.
    ProcessContainer* container = nullptr;  ///< Entered before exec, and told of the pid.
    NamespaceRequest namespaces;            ///< Empty: none.
};

/// Where a start failed.
enum class SpawnStage : std::uint8_t {
    Prepare,
    Fork,
    Container,
    Namespace,
    Limits,
    Identity,
    Directory,
    Stdin,
    Stdout,
    Stderr,
    Terminal,
    Exec
};
[[nodiscard]] std::string_view to_string(SpawnStage stage);

/// Why a program did not start. `error_number` is errno: at Exec, ENOENT (2) is "not found", EACCES
/// (13) "not executable", ENOEXEC a file without `#!`.
struct SpawnFailure {
    SpawnStage stage = SpawnStage::Prepare;
    int error_number = 0;
    std::string message;  ///< "exec /no/such: No such file or directory"
};

/// Starts a program and waits until its exec has worked or failed (a failed child is reaped). The
/// child begins with all signals at their default and none blocked. Order in it: session,
/// container, namespaces, limits, identity (groups, gid, uid, checked), umask, folder, streams,
/// exec. No shell is ever run. Any thread; only async-signal-safe calls happen between fork and
/// exec, so other threads may hold any lock.
[[nodiscard]] std::expected<ProcessId, SpawnFailure> spawn(const SpawnRequest& request);

/// How a process ended, as wait gave it.
struct ExitStatus {
    ProcessId id;
    int code = 0;    ///< exit code, 0 when a signal ended it.
    int signal = 0;  ///< 0 when it exited.
    bool core_dumped = false;
    std::uint64_t user_micros = 0;
    std::uint64_t system_micros = 0;
    std::uint64_t rss_peak_bytes =
        0;  ///< The largest of the process and the descendants it waited for.
};

/// Reaps one ended child of any kind without blocking; nothing when none has ended. id.start_time
/// is 0 when unknown.
[[nodiscard]] std::optional<ExitStatus> reap_any();
/// Waits for one child. NotFound: not a child of ours.
[[nodiscard]] Result<ExitStatus> wait_for(pid_t pid);
/// The same without blocking; nothing while it runs.
[[nodiscard]] Result<std::optional<ExitStatus>> try_wait_for(pid_t pid);

/// A new pseudo terminal: the master (close-on-exec) for us, the other end for a child's three
/// streams.
struct PseudoTerminal {
    Fd master;
    Fd terminal;
};
[[nodiscard]] Result<PseudoTerminal> open_pseudo_terminal(std::uint16_t rows,
                                                          std::uint16_t columns);
[[nodiscard]] Status resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns);

}  // namespace twinyard::os
