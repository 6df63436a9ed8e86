#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::os {

/// A process that cannot be mistaken for a later one with the same pid. `start_time` is field 22 of
/// /proc/PID/stat: clock ticks since boot, so it is only comparable within one boot (see
/// boot_id()).
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_time = 0;

    friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// What /proc/PID/stat says of one process.
struct ProcessStat {
    ProcessId id;
    char state = '?';  ///< R, S, D, T, Z, ...
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t rss_bytes = 0;
    int threads = 0;

    /// A zombie. One whose first thread ended while others run on is not dead.
    [[nodiscard]] bool dead() const {
        return (state == 'Z' && threads <= 1) || state == 'X' || state == 'x';
    }
};

/// Parses the text of /proc/PID/stat (the command's name may hold spaces and brackets). Pure.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

// All of these read /proc and may be called from any thread.

/// NotFound when there is no such process (a zombie is one).
[[nodiscard]] Result<ProcessStat> process_stat(pid_t pid);
[[nodiscard]] Result<ProcessId> process_id(pid_t pid);
[[nodiscard]] ProcessId own_process_id();

/// True while exactly this process runs. A zombie is not alive.
[[nodiscard]] bool is_alive(const ProcessId& id);

/// Signals exactly this process (pidfd, so a reused pid is never hit). NotFound when it is gone,
/// Denied when not ours.
[[nodiscard]] Status send_signal(const ProcessId& id, int signal);

/// Signals a process group of ours that `leader` led; NotFound when no member is left.
[[nodiscard]] Status send_signal_to_group(pid_t group, int signal);

/// Every process that /proc shows, in order of pid. A process that ends meanwhile is left out.
[[nodiscard]] std::vector<ProcessStat> all_processes();

/// A text that is new at each boot of the machine; empty where the kernel has none.
[[nodiscard]] std::string boot_id();

/// A pid file: "pid start_time boot_id". write is atomic; read gives NotFound (no file), Corrupt
/// (not one of ours).
[[nodiscard]] Status write_pid_file(const std::string& path, const ProcessId& id);
/// A file of an earlier boot gives a ProcessId that is not alive ({pid, 0}).
[[nodiscard]] Result<ProcessId> read_pid_file(const std::string& path);

/// Makes this process the one that orphans below it are handed to (PR_SET_CHILD_SUBREAPER). The
/// caller must then reap children that it did not start (waitpid(-1)).
[[nodiscard]] Status become_subreaper();

}  // namespace twinyard::os
