#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::config {

enum class Severity : std::uint8_t {
    Error,      ///< Malformed or contradictory: the file is not used.
    Refused,    ///< Well formed, but ignoring it would do harm and we do not have its effect: not
                ///< used either.
    NoEffect,   ///< Accepted; nothing follows from it.
    Deviation,  ///< Taken otherwise than Slurm would, on purpose.
    Info,
};
[[nodiscard]] std::string_view to_string(Severity severity);

/// Something to tell about a line of a configuration file. Line 0: about the file as a whole.
struct Finding {
    std::string file;
    std::size_t line = 0;
    Severity severity = Severity::Error;
    std::string text;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// "slurm.conf:12: what is wrong".
[[nodiscard]] std::string to_string(const Finding& finding);

/// Most findings kept of one reading; a last one says that there were more.
inline constexpr std::size_t kFindingsMax = 1000;

/// The findings of one reading, in the order found.
class Findings {
  public:
    void add(Finding finding);

    [[nodiscard]] const std::vector<Finding>& all() const { return all_; }
    /// What is added now is only counted: the text need not be made with care.
    [[nodiscard]] bool full() const { return all_.size() >= kFindingsMax; }
    [[nodiscard]] bool has(Severity severity) const;
    /// No Error and no Refused.
    [[nodiscard]] bool usable() const;
    /// The first finding that makes the file unusable, and how many more there are; Ok when it is
    /// usable.
    [[nodiscard]] Status status() const;

  private:
    std::vector<Finding> all_;
    bool unusable_beyond_limit_ = false;
};

}  // namespace twinyard::config
