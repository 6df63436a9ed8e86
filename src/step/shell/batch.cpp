#include "step/shell/batch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "api/stepd.h"
#include "os/files.h"
#include "os/log.h"
#include "slurm/file_pattern.h"
#include "step/core/words.h"
#include "step/shell/output.h"

namespace twinyard::step {

namespace {

/// What Slurm shows when a job's files cannot be opened: ExitCode 0:53.
constexpr ProcessEnd kFilesFailed{.exit_code = 0, .signal = 53};

}  // namespace

ProcessEnd end_of(int wait_status) {
    if (WIFSIGNALED(wait_status)) return {.signal = WTERMSIG(wait_status)};
    return {.exit_code = WEXITSTATUS(wait_status)};
}

void add_step_variables(const Job& job, std::vector<std::string>& environment) {
    if (job.user_socket.empty()) return;
    std::erase_if(environment, [](const std::string& variable) {
        return variable.starts_with("TWINYARD_STEPD_SOCKET=") ||
               variable.starts_with("TWINYARD_STEP_SECRET=");
    });
    environment.push_back("TWINYARD_STEPD_SOCKET=" + job.user_socket);
    environment.push_back("TWINYARD_STEP_SECRET=" + job.order.secret);
}

Status Batch::open_files() {
    const model::LaunchSpec& launch = job_.order.launch;
    const StreamOwner owner{.work_dir = launch.work_dir};
    // Input first: when it is missing no output file is made.
    const std::string in =
        launch.std_in.empty() ? "/dev/null" : resolve_pattern(job_, launch.std_in, owner);
    TRY(in_, open_input(job_, in));
    const std::string_view pattern =
        launch.std_out.empty() ? slurm::kDefaultOutput : std::string_view(launch.std_out);
    const std::string out = resolve_pattern(job_, pattern, owner);
    const bool truncate = !launch.append_output;
    TRY(out_, open_output(job_, out, truncate, launch.umask));
    const std::string err =
        launch.std_err.empty() ? out : resolve_pattern(job_, launch.std_err, owner);
    if (err != out) {
        TRY(err_, open_output(job_, err, truncate, launch.umask));
        return {};
    }
    err_.reset(::fcntl(out_.get(), F_DUPFD_CLOEXEC, 3));
    return {};
}

std::vector<std::string> Batch::environment() const {
    const std::string blob =
        os::read_file(job_.file(api::StepdFiles::kEnvironment)).value_or(std::string());
    std::vector<std::string> environment =
        slurm::batch_environment(job_.order, job_.host, slurm::split_environment(blob));
    add_step_variables(job_, environment);
    return environment;
}

std::expected<void, BatchFailure> Batch::start(std::move_only_function<void(ProcessEnd)> ended) {
    if (const Status opened = open_files(); !opened) {
        return std::unexpected(BatchFailure{kFilesFailed, opened.error().message()});
    }
    Result<std::unique_ptr<os::ProcessContainer>> container =
        job_.factory->create(job_.container->name() + "/batch", 0);
    if (!container) return std::unexpected(BatchFailure{{}, container.error().message()});
    container_ = *std::move(container);

    os::SpawnRequest request = job_.spawn_request(environment());
    const std::string script = job_.spool + "/slurm_script";
    request.argv.push_back(script);
    for (const std::string& argument : job_.order.launch.arguments)
        request.argv.push_back(argument);
    request.stdin_stream = os::FdStream{in_.get()};
    request.stdout_stream = os::FdStream{out_.get()};
    request.stderr_stream = os::FdStream{err_.get()};
    request.container = container_.get();
    const auto started = os::spawn(request);
    in_.reset();
    out_.reset();
    if (!started) {
        os::log_error("batch script: {}", started.error().message);
        const int number = started.error().error_number;
        say(exec_line(script, ::strerrordesc_np(number)));
        return std::unexpected(BatchFailure{{.exit_code = number}, started.error().message});
    }
    shell_ = *started;
    job_.children.watch(shell_.pid, [told = std::move(ended)](const rpc::ChildExit& exit) mutable {
        told(end_of(exit.wait_status));
    });
    return {};
}

void Batch::signal(int signal) const {
    if (shell_.pid == 0) return;
    const Status sent = os::send_signal(shell_, signal);
    if (!sent) os::log_info("signal {}: {}", signal, sent.error().message());
}

std::uint64_t Batch::oom_kills() const {
    return container_ ? container_->oom_kills() : 0;
}

}  // namespace twinyard::step
