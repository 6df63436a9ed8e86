#include "step/shell/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/files.h"
#include "slurm/file_pattern.h"

namespace twinyard::step {

namespace {

/// The process's umask for the length of an open; the daemon has one thread.
class UmaskFor {
  public:
    explicit UmaskFor(std::uint32_t mask) : before_(::umask(static_cast<mode_t>(mask & 0777))) {}
    ~UmaskFor() { ::umask(before_); }
    UmaskFor(const UmaskFor&) = delete;
    UmaskFor& operator=(const UmaskFor&) = delete;

  private:
    mode_t before_;
};

bool is_folder(const Job& job, const std::string& path) {
    return os::open_as_user(job.identity, path, O_PATH | O_DIRECTORY | O_NONBLOCK).has_value();
}

/// SLURM_ARRAY_* of the request, for %A and %a.
std::optional<std::uint32_t> number_in_environment(const Job& job, std::string_view name) {
    for (const auto& [key, value] : job.order.launch.extra_environment) {
        if (key != name) continue;
        const Result<std::uint32_t> number = parse_number<std::uint32_t>(value);
        if (number) return *number;
    }
    return std::nullopt;
}

}  // namespace

std::string resolve_pattern(const Job& job, std::string_view pattern, const StreamOwner& owner) {
    slurm::PatternFacts facts;
    facts.job = static_cast<std::uint32_t>(job.order.job.value());
    facts.array_job = number_in_environment(job, "SLURM_ARRAY_JOB_ID");
    facts.array_task = number_in_environment(job, "SLURM_ARRAY_TASK_ID");
    facts.step = owner.step;
    facts.node = job.options.node;
    facts.node_index = owner.node_index;
    facts.task = owner.task;
    facts.restarts = job.order.restarts;
    facts.user = job.host.user_name;
    facts.job_name = job.order.name;
    const std::string name = slurm::expand_file_pattern(pattern, facts);
    if (name.starts_with('/')) return name;
    std::string base(owner.work_dir);
    if (base.empty() || !is_folder(job, base)) base = "/tmp";
    return base + '/' + name;
}

Result<os::Fd> open_output(const Job& job,
                           const std::string& path,
                           bool truncate,
                           std::uint32_t umask) {
    const UmaskFor scope(umask);
    const int flags = O_WRONLY | O_CREAT | O_APPEND | (truncate ? O_TRUNC : 0);
    Result<os::Fd> file = os::open_as_user(job.identity, path, flags);
    if (file || file.error().code() != ErrorCode::NotFound) return file;
    TRY_STATUS(os::make_folders_as_user(job.identity, os::parent_folder(path)));
    return os::open_as_user(job.identity, path, flags);
}

Result<os::Fd> open_input(const Job& job, const std::string& path) {
    return os::open_as_user(job.identity, path, O_RDONLY);
}

}  // namespace twinyard::step
