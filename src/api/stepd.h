#pragma once

#include <string>
#include <string_view>

#include "api/agent.h"

/// What a node's agent and the step daemons it starts agree on. A step daemon owns one job on one
/// node and outlives agent and controller.
///
/// Its folder is <agent's folder>/jobs/<launch_folder_name(key)>/, mode 0700, the agent's own. In
/// it, before the daemon starts: `launch` (wire::encode of the LaunchOrder), `script` (only if the
/// order names one) and `environment` (NUL-separated NAME=value). The agent starts the daemon in a
/// session of its own, with stdin and stdout on /dev/null and stderr in `log`; it outlives the
/// agent that started it:
///
///   twinyard-stepd --dir FOLDER --node NAME --node-dir AGENTS_FOLDER --containers BASE
///       [--slurm-conf PATH] [--bin FOLDER] [--node-hostname] [--cpuset-alone] [--log FILE]
///       [--ready-fd N]
///
/// The daemon takes the lock `lock` (os::lock_file; a second one leaves at once, and so does one
/// that then finds `exit`), writes `pid` (os::write_pid_file), listens on the socket, writes one
/// byte to the descriptor of --ready-fd and closes it, and serves the agent (same user as itself,
/// nobody else):
/// - StepdWatch: a stream of ObservedRun, the present state first, then each change. Its
///   `address` is that of the socket. Ready once prolog and container are there; nothing of the
///   user's runs before Go.
/// - StepdOrder: DesiredRun → empty. Level-triggered, so each may come again: Prepare changes
///   nothing but the time limit, Go runs (gang.addresses filled), Stop ends it for `reason`. A
///   changed launch.time_limit counts at once. Stop before Go: Ended without having run.
/// - StepdSignal: SignalOrder → empty.
/// - StepdSteps: a stream of StepRecord, all so far, then each as it starts and ends; the last one
///   of a step number counts.
/// Each part of both streams is one wire::encode.
/// When nothing of the job is left it writes `steps` (wire::append_row of each StepRecord), then
/// `exit` (wire::encode of the ObservedRun with phase Ended; os::write_file_atomic), then sends it
/// to the watchers. From then on SIGTERM ends the daemon; before that it ignores SIGTERM. Left
/// alone it ends by itself kStepdLinger after `exit`. The agent removes the folder when the
/// controller has said Forget.
///
/// Nobody holds the lock and there is no `exit`: the agent takes the lock, kills what is in the
/// job's container (name = the folder's, base = BASE; both as in os/process_container.h), writes
/// `exit` itself and reports Ended.
namespace twinyard::api {

struct StepdFiles {
    static constexpr std::string_view kLaunch = "launch";
    static constexpr std::string_view kScript = "script";
    static constexpr std::string_view kEnvironment = "environment";
    /// Path of the job's spool folder, which lies elsewhere; the agent removes it for a daemon that
    /// vanished.
    static constexpr std::string_view kSpool = "spool";
    static constexpr std::string_view kPid = "pid";
    static constexpr std::string_view kLock = "lock";
    static constexpr std::string_view kSocket = "stepd.sock";
    static constexpr std::string_view kSteps = "steps";
    static constexpr std::string_view kExit = "exit";
    static constexpr std::string_view kLog = "log";  ///< Default of --log.
};

struct StepdFlags {
    static constexpr std::string_view kDir = "--dir";
    static constexpr std::string_view kNode = "--node";
    static constexpr std::string_view kNodeDir = "--node-dir";
    static constexpr std::string_view kContainers = "--containers";  ///< Base of the containers.
    static constexpr std::string_view kSlurmConf = "--slurm-conf";   ///< SLURM_CONF of the job.
    static constexpr std::string_view kBin = "--bin";  ///< Put in front of the job's PATH.
    /// Several nodes on this host: processes see the node's name as host name, and the gang's names
    /// in /etc/hosts (os/namespaces.h).
    static constexpr std::string_view kNodeHostname = "--node-hostname";
    /// The node's cpus are declared and not this host's: no cpuset, no affinity.
    static constexpr std::string_view kCpusetAlone = "--cpuset-alone";
    static constexpr std::string_view kLog = "--log";
    static constexpr std::string_view kReadyFd = "--ready-fd";
};

inline constexpr std::string_view kStepdProgram = "twinyard-stepd";
/// How long it stays after `exit` without anybody to tell it to go.
inline constexpr Millis kStepdLinger{60'000};

/// "<workload>.<attempt>.<group>.<member>": the folder, and the outer container.
[[nodiscard]] inline std::string launch_folder_name(const LaunchKey& key) {
    return std::to_string(key.workload.value()) + '.' + std::to_string(key.attempt) + '.' +
           std::to_string(key.group) + '.' + std::to_string(key.member);
}

}  // namespace twinyard::api
