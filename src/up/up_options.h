#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace twinyard::up {

/// `nodes=64,gpus=h100:8,cpus=96,memory=1000G`: nodes in memory. What is absent comes from the
/// configuration file or is small.
struct EmulateSpec {
    std::uint32_t nodes = 0;  ///< 0: as many as the configuration names.
    std::string gpus;
    std::uint32_t cpus = 0;
    std::int64_t memory_bytes = 0;
};
[[nodiscard]] Result<EmulateSpec> parse_emulate(const std::string& text);

/// The command line of `twinyard up`, as given. Kept in the folder, so that a later `up` on it
/// needs no options.
struct UpOptions {
    std::string dir;  ///< Absolute.
    bool detach = false;
    std::uint32_t nodes = 0;  ///< 0: one, this machine.
    std::string gpus;         ///< "h100:8"; empty: as found.
    std::uint32_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::string config;                  ///< Absolute path of a slurm.conf, or empty.
    std::optional<std::string> emulate;  ///< As written.

    [[nodiscard]] bool says_nothing() const {
        return nodes == 0 && gpus.empty() && cpus == 0 && memory_bytes == 0 && config.empty() &&
               !emulate;
    }
};

inline constexpr std::uint32_t kRealNodesMax = 1'000;
inline constexpr std::uint32_t kEmulatedNodesMax = 100'000;

/// Without the program's name. InvalidArgument with one line that says what is wrong.
[[nodiscard]] Result<UpOptions> parse_up(std::span<const char* const> args);

/// The folder's own copy. NotFound: `up` was never there.
[[nodiscard]] Status save_options(const UpOptions& options);
[[nodiscard]] Result<UpOptions> load_options(const std::string& dir);

/// Absolute form of a path that may not exist yet.
[[nodiscard]] std::string absolute(const std::string& path);

}  // namespace twinyard::up
