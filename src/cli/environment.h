#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/command.h"
#include "base/result.h"
#include "base/time.h"
#include "model/launch.h"
#include "slurm/calendar.h"

namespace twinyard::cli {

/// What a command sees of the process it runs in and of its host. Tests make their own; the
/// functions do nothing until set.
struct Environment {
    std::vector<std::string> variables;  ///< NAME=value.
    std::uint32_t uid = 0, gid = 0;
    std::uint32_t umask = 022;
    std::string work_dir, host_name;
    std::vector<model::ProcessLimit> limits;  ///< Soft ones.
    std::string command_line;                 ///< As typed, for SubmitLine.
    slurm::Calendar calendar = slurm::utc_calendar();

    std::function<std::int64_t()> now_ms = [] { return std::int64_t{0}; };  ///< Unix.
    std::function<void(Millis)> sleep = [](Millis) {};
    std::function<api::RequestId()> new_request_id = [] { return api::RequestId{}; };
    /// The whole file, `max` bytes at most (one more shows that it is larger); "-" is stdin.
    std::function<Result<std::string>(const std::string& path, std::size_t max)> read_file;
    /// Users by name (numbers are their own) and by number (those without a name print as numbers).
    std::function<std::optional<std::uint32_t>(std::string_view)> user_id;
    std::function<std::string(std::uint32_t)> user_name;
    std::function<std::string(std::uint32_t)> group_name;

    /// The value of a variable.
    [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
    /// The command is typed by a user at this process.
    [[nodiscard]] static Environment of_this_process();
};

}  // namespace twinyard::cli
