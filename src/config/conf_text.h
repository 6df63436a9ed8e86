#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/finding.h"

namespace twinyard::config {

inline constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;
/// All files of one reading together: an include may be named often.
inline constexpr std::size_t kTotalBytesMax = std::size_t{64} << 20;
/// A line with its continuations.
inline constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kIncludeDepthMax = 10;

/// `Key=value`; the value without its quotes. `op` is the character before '=', as in `Nodes+=a`; 0
/// for none.
struct Pair {
    std::string key;
    std::string value;
    char op = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
};

/// A line without comments, with its continuations, and where it began.
struct ConfLine {
    std::string file;
    std::size_t line = 0;
    std::vector<Pair> pairs;
};

/// The text of a file. Where it comes from is the caller's business.
using FileLoader = std::function<Result<std::string>(const std::string& path)>;

/// Reads a whole file of at most kFileBytesMax bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Cuts a Slurm configuration text into lines of pairs; `Include` is followed through `loader`,
/// relative to the folder of the first file, `%c` being the cluster's name. What is malformed
/// becomes a finding and the rest is still read.
[[nodiscard]] std::vector<ConfLine> read_lines(std::string_view text,
                                               const std::string& name,
                                               const FileLoader& loader,
                                               Findings& findings);

}  // namespace twinyard::config
