#pragma once

#include <expected>
#include <string>

#include "os/process_id.h"
#include "step/core/launch.h"
#include "step/shell/job.h"

namespace twinyard::step {

/// Why the script did not start.
struct BatchFailure {
    ProcessEnd end;
    std::string why;
};

/// The batch script of a job on its first node.
class Batch {
  public:
    explicit Batch(Job& job) : job_(job) {}

    /// Opens its files as the user and starts it; `ended` is called once it has ended.
    [[nodiscard]] std::expected<void, BatchFailure> start(
        std::move_only_function<void(ProcessEnd)> ended);
    /// To the shell alone.
    void signal(int signal) const;
    /// A line into the job's stderr, if there is one.
    void say(std::string_view line) const { write_now(err_.get(), line); }
    [[nodiscard]] std::uint64_t oom_kills() const;

  private:
    [[nodiscard]] Status open_files();
    [[nodiscard]] std::vector<std::string> environment() const;

    Job& job_;
    std::unique_ptr<os::ProcessContainer> container_;
    os::Fd in_, out_, err_;
    os::ProcessId shell_;
};

/// How a process ended, of wait's status.
[[nodiscard]] ProcessEnd end_of(int wait_status);

/// What every process of the job needs to reach us: socket, secret.
void add_step_variables(const Job& job, std::vector<std::string>& environment);

}  // namespace twinyard::step
