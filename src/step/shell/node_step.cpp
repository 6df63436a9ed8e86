// The tasks of a step on one node. start() → start_task() for each; read_output() and feed() copy
// the streams; task_ended() when wait told us; after the last one finish_when_empty() kills what
// tasks left behind, so that the outputs come to an end, and finish() tells the owner.
#include "step/shell/node_step.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "os/files.h"
#include "os/log.h"
#include "slurm/file_pattern.h"
#include "step/core/words.h"
#include "step/shell/batch.h"
#include "wire/messages.h"

namespace twinyard::step {

namespace {

using Kind = api::StepEvent::Kind;

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
/// Of one task, not yet taken by it; srun has no window of its own.
constexpr std::size_t kInputBytesMax = std::size_t{64} << 20;
constexpr Millis kKillPatience{100};
constexpr Millis kKillRetry{500};
/// What a stopped reader may leave behind in one last look.
constexpr int kDrainPiecesMax = 64;

/// What -i, -o and -e may say instead of a file.
enum class StreamMode : std::uint8_t { Caller, Nothing, File };

StreamMode mode_of(const std::string& pattern, std::uint32_t rank) {
    if (pattern.empty() || pattern == "all") return StreamMode::Caller;
    if (pattern == "none") return StreamMode::Nothing;
    const Result<std::uint32_t> only = parse_number<std::uint32_t>(pattern);
    if (!only) return StreamMode::File;
    return *only == rank ? StreamMode::Caller : StreamMode::Nothing;
}

void set_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::vector<std::uint16_t> granted(const std::vector<std::uint16_t>& places,
                                   const std::vector<std::uint16_t>& grant) {
    std::vector<std::uint16_t> indexes;
    for (const std::uint16_t place : places) {
        if (place < grant.size()) indexes.push_back(grant[place]);
    }
    return indexes;
}

}  // namespace

NodeStep::NodeStep(Job& job, api::StepLaunch launch, StepSink sink, rpc::Callback done)
    : job_(job), launch_(std::move(launch)), sink_(std::move(sink)), on_done_(std::move(done)) {
    launch_.cpus = granted(launch_.cpus, job_.order.grant.cpus);
    launch_.devices = granted(launch_.devices, job_.order.grant.devices);
}

NodeStep::~NodeStep() {
    for (const auto& task : tasks_)
        job_.children.forget(task->pid);
}

Status NodeStep::make_container() {
    const std::string name = job_.container->name() + "/step_" + std::to_string(launch_.step);
    TRY(container_, job_.factory->create(name, 0));
    if (job_.options.cpuset_alone || launch_.cpus.empty()) return {};
    const std::vector<int> cpus(launch_.cpus.begin(), launch_.cpus.end());
    const Status set = container_->set_cpuset(cpus);
    if (!set) os::log_debug("cpuset of step {}: {}", launch_.step, set.error().message());
    return {};
}

void NodeStep::start() {
    for (std::uint32_t i = 0; i < launch_.tasks; ++i) {
        tasks_.push_back(std::make_unique<Task>());
        tasks_.back()->rank = launch_.first_task + i;
        tasks_.back()->local_id = i;
    }
    running_ = tasks_.size();
    const Status made = make_container();
    for (const auto& task : tasks_) {
        if (made) {
            start_task(*task);
        } else {
            task_failed(*task, 1, "slurmstepd: error: " + made.error().message() + "\n");
        }
    }
    if (tasks_.empty()) finish_when_empty();
}

void NodeStep::tell(Kind kind, std::uint32_t task, std::int32_t value, std::string data) {
    api::StepEvent event;
    event.kind = kind;
    event.step = launch_.step;
    event.task = task;
    event.value = value;
    event.node = job_.options.node;
    event.data = std::move(data);
    if (!sink_(std::move(event))) pause();
}

void NodeStep::pause() {
    if (paused_) return;
    paused_ = true;
    for (const auto& each : tasks_) {
        each->out.watch.set_events(0);
        each->err.watch.set_events(0);
    }
}

void NodeStep::resume() {
    if (!paused_) return;
    paused_ = false;
    for (const auto& task : tasks_) {
        if (task->out.fd) task->out.watch.set_events(rpc::kFdReadable);
        if (task->err.fd) task->err.watch.set_events(rpc::kFdReadable);
    }
}

StreamOwner NodeStep::owner(const Task& task) const {
    const std::string& own = launch_.request.work_dir;
    return {.step = launch_.step,
            .node_index = launch_.node_index,
            .task = task.rank,
            .work_dir = own.empty() ? job_.order.launch.work_dir : own};
}

Result<os::Fd> NodeStep::open_in(Task& task) {
    const std::string& pattern = launch_.request.std_in;
    const StreamMode mode = mode_of(pattern, task.rank);
    if (mode == StreamMode::Nothing) return open_input(job_, "/dev/null");
    if (mode == StreamMode::File) {
        return open_input(job_, resolve_pattern(job_, pattern, owner(task)));
    }
    TRY(os::Pipe pipe, os::make_pipe());
    task.in = std::move(pipe.write_end);
    set_nonblocking(task.in.get());
    return std::move(pipe.read_end);
}

Result<os::Fd> NodeStep::open_shared_file(const Task& task, const std::string& pattern) {
    const std::string path = resolve_pattern(job_, pattern, owner(task));
    auto found = files_.find(path);
    if (found == files_.end()) {
        // A file that all nodes share was emptied once for all before the step started.
        const bool own = slurm::is_per_task(pattern) || slurm::is_per_node(pattern);
        TRY(os::Fd file, open_output(job_, path, own, launch_.request.umask));
        found = files_.emplace(path, std::move(file)).first;
    }
    return os::Fd(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 3));
}

Result<os::Fd> NodeStep::open_out(Task& task, const std::string& pattern, Output& from) {
    const StreamMode mode = mode_of(pattern, task.rank);
    if (mode == StreamMode::Nothing) return open_output(job_, "/dev/null", false, 0);
    if (mode == StreamMode::File) return open_shared_file(task, pattern);
    TRY(os::Pipe pipe, os::make_pipe());
    from.fd = std::move(pipe.read_end);
    return std::move(pipe.write_end);
}

Result<NodeStep::Streams> NodeStep::open_streams(Task& task) {
    const api::StepRequest& request = launch_.request;
    Streams streams;
    TRY(streams.in, open_in(task));
    TRY(streams.out, open_out(task, request.std_out, task.out));
    // Without -e, errors go where -o says.
    streams.err_is_out = request.std_err.empty() && !request.std_out.empty() && !task.out.fd;
    if (!streams.err_is_out) {
        TRY(streams.err, open_out(task, request.std_err, task.err));
    }
    return streams;
}

void NodeStep::start_task(Task& task) {
    Result<Streams> streams = open_streams(task);
    if (!streams) {
        return task_failed(task, 1, "slurmstepd: error: " + streams.error().message() + "\n");
    }
    const api::StepRequest& asked = launch_.request;
    std::vector<std::string> environment = slurm::task_environment(
        job_.order, launch_, {.rank = task.rank, .local_id = task.local_id}, job_.host);
    add_step_variables(job_, environment);
    os::SpawnRequest request = job_.spawn_request(std::move(environment));
    request.argv = asked.argv;
    if (!asked.work_dir.empty()) request.cwd = asked.work_dir;
    request.umask = static_cast<mode_t>(asked.umask & 0777);
    for (const model::ProcessLimit& limit : asked.limits)
        request.limits.push_back({.resource = limit.resource, .soft = limit.soft, .hard = {}});
    request.stdin_stream = os::FdStream{streams->in.get()};
    request.stdout_stream = os::FdStream{streams->out.get()};
    request.stderr_stream = os::FdStream{streams->err.get()};
    if (streams->err_is_out) request.stderr_stream = os::SameAsStdout{};
    request.container = container_.get();
    const auto started = os::spawn(request);
    if (!started) {
        const os::SpawnFailure& failure = started.error();
        const std::string program = asked.argv.empty() ? std::string() : asked.argv.front();
        const bool exec = failure.stage == os::SpawnStage::Exec;
        return task_failed(task,
                           exec ? failure.error_number : 1,
                           exec ? exec_line(program, ::strerrordesc_np(failure.error_number))
                                : "slurmstepd: error: " + failure.message + "\n");
    }
    task.pid = started->pid;
    job_.children.watch(task.pid, [this, &task](const rpc::ChildExit& exit) {
        task_ended(task, exit.wait_status, usage_of(exit));
    });
    tell(Kind::TaskStarted, task.rank, task.pid, {});
    watch_output(task, task.out, Kind::Stdout);
    watch_output(task, task.err, Kind::Stderr);
}

void NodeStep::watch_output(Task& task, Output& output, Kind kind) {
    if (!output.fd) return;
    const auto events = paused_ ? rpc::FdEvents{0} : rpc::kFdReadable;
    set_nonblocking(output.fd.get());
    output.watch =
        job_.loop.watch_fd(output.fd.get(), events, [this, &task, &output, kind](rpc::FdEvents) {
            if (!read_output(task, output, kind) && running_ == 0) finish_when_empty();
        });
}

bool NodeStep::read_output(Task& task, Output& output, Kind kind) {
    std::array<char, kPieceBytes> piece;
    const ssize_t count = ::read(output.fd.get(), piece.data(), piece.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) {
        output.watch = {};
        output.fd.reset();
        return false;
    }
    tell(kind, task.rank, 0, std::string(piece.data(), static_cast<std::size_t>(count)));
    return true;
}

/// What a task wrote comes before the news of its end.
void NodeStep::drain(Task& task) {
    const auto drain_one = [&](Output& output, Kind kind) {
        for (int i = 0; i < kDrainPiecesMax && output.fd; ++i) {
            pollfd ready{.fd = output.fd.get(), .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 0) <= 0 || !read_output(task, output, kind)) return;
        }
    };
    drain_one(task.out, Kind::Stdout);
    drain_one(task.err, Kind::Stderr);
}

void NodeStep::take(const api::StepEvent& event) {
    if (event.kind == Kind::Signal) return signal(event.value);
    if (event.kind == Kind::Message) return event.value == 1 ? pause() : resume();
    if (event.kind != Kind::Stdin) return;
    for (const auto& task : tasks_) {
        if (!task->in) continue;
        if (event.data.empty()) task->in_ended = true;
        task->in_waiting += event.data;
        if (task->in_waiting.size() > kInputBytesMax) {
            tell(Kind::Message, 0, 0, "slurmstepd: error: a task does not take its input\n");
            return kill();
        }
        feed(*task);
    }
}

void NodeStep::feed(Task& task) {
    while (task.in && !task.in_waiting.empty()) {
        const ssize_t count =
            ::write(task.in.get(), task.in_waiting.data(), task.in_waiting.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) break;
        if (count < 0) {
            // The task has closed its input: the rest goes nowhere.
            task.in_waiting.clear();
            task.in_ended = true;
            break;
        }
        task.in_waiting.erase(0, static_cast<std::size_t>(count));
    }
    if (!task.in) return;
    if (!task.in_waiting.empty()) {
        if (!task.in_watch.active()) {
            task.in_watch = job_.loop.watch_fd(
                task.in.get(), rpc::kFdWritable, [this, &task](rpc::FdEvents) { feed(task); });
        }
        return;
    }
    task.in_watch = {};
    if (task.in_ended) task.in.reset();
}

void NodeStep::signal(int signal) {
    if (!container_ || done_) return;
    if (signal == SIGKILL) return kill();
    const Status sent = container_->signal_all(signal);
    if (!sent)
        os::log_info("signal {} to step {}: {}", signal, launch_.step, sent.error().message());
}

void NodeStep::end(Millis kill_wait) {
    signal(SIGCONT);
    signal(SIGTERM);
    if (!kill_timer_.active()) kill_timer_ = job_.loop.after(kill_wait, [this] { kill(); });
}

void NodeStep::kill() {
    if (!container_ || done_) return;
    if (container_->kill_all(kKillPatience)) return;
    kill_timer_ = job_.loop.after(kKillRetry, [this] { kill(); });
}

void NodeStep::task_failed(Task& task, int code, std::string text) {
    tell(Kind::Stderr, task.rank, 0, std::move(text));
    constexpr int kExitShift = 8;  // As wait(2) has it.
    task_ended(task, code << kExitShift, {});
}

void NodeStep::task_ended(Task& task, int wait_status, const api::Usage& usage) {
    drain(task);
    task.in_watch = {};
    task.in.reset();
    tell(Kind::TaskEnded, task.rank, wait_status, wire::encode(usage));
    if (--running_ == 0) finish_when_empty();
}

void NodeStep::finish_when_empty() {
    if (done_) return;
    if (container_ && !container_->kill_all(kKillPatience)) {
        empty_timer_ = job_.loop.after(kKillRetry, [this] { finish_when_empty(); });
        return;
    }
    finish();
}

void NodeStep::finish() {
    for (const auto& task : tasks_) {
        drain(*task);
        task->out.watch = {};
        task->err.watch = {};
    }
    const std::uint64_t kills = container_ ? container_->oom_kills() : 0;
    if (kills > 0) {
        const std::string step =
            std::to_string(job_.order.job.value()) + "." + std::to_string(launch_.step);
        tell(Kind::Message, 0, 0, oom_line(kills, step));
    }
    done_ = true;
    kill_timer_ = {};
    if (container_) {
        const Status gone = container_->remove(kKillPatience);
        if (!gone) os::log_info("step {}: {}", launch_.step, gone.error().message());
    }
    job_.loop.post(std::move(on_done_));
}

}  // namespace twinyard::step
