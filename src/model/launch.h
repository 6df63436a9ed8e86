#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"

namespace twinyard::model {

/// A signal sent some time before the time limit.
struct EndWarning {
    std::int32_t signal = 0;
    Millis before_end{0};
    bool batch_shell_only = false;
    friend bool operator==(const EndWarning&, const EndWarning&) = default;
};

/// A soft limit that travels with the job, as in setrlimit(2). `resource` is the number of
/// RLIMIT_*.
struct ProcessLimit {
    std::int32_t resource = 0;
    std::uint64_t soft = 0;
    friend bool operator==(const ProcessLimit&, const ProcessLimit&) = default;
};

/// How the processes of a workload are started. Large parts are blobs by content hash, never
/// resident.
struct LaunchSpec {
    ContentHash script;                  ///< Blob: the batch script as it came.
    ContentHash environment;             ///< Blob: NUL-separated NAME=value of the submitter.
    std::vector<std::string> arguments;  ///< Of the script.
    std::string command;  ///< What the user named (path of the script, or the wrapped text).
    std::string work_dir;
    std::string std_in, std_out,
        std_err;  ///< Patterns, not yet resolved; empty: the door's default.
    bool append_output = false;
    std::uint32_t umask = 022;
    std::vector<ProcessLimit> limits;
    std::string submit_host;
    std::string submit_line;
    std::optional<EndWarning> end_warning;
    /// Set for every process of the workload by the door: what the request itself says
    /// (SLURM_NTASKS …).
    std::vector<std::pair<std::string, std::string>> extra_environment;
    friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

}  // namespace twinyard::model
