// The step daemon's flow. run_stepd(): lock, order, sockets; Daemon: what the agent orders goes to
// the core (Launch), what the core answers is done in perform(): the batch script, signals, the
// kill of all that is left, the exit record. Steps are StepRunner's (first node) and NodeSteps'.
#include "step/shell/daemon.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "api/stepd.h"
#include "os/boot_clock.h"
#include "os/files.h"
#include "os/log.h"
#include "os/process_id.h"
#include "rpc/server.h"
#include "step/core/launch.h"
#include "step/core/words.h"
#include "step/shell/batch.h"
#include "step/shell/node_steps.h"
#include "step/shell/step_runner.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::step {

namespace {

using api::StepdFiles;

/// How long the loop may stand still for a kill; then it goes on and tries again.
constexpr Millis kKillPatience{200};
constexpr Millis kKillRetry{300};
/// Processes that end by themselves after TERM are noticed by wait, those of others by a look.
constexpr Millis kEmptyLook{100};
constexpr Millis kSoon{5};
constexpr Millis kWriteRetry{1'000};
constexpr Millis kRemovePatience{500};

class Daemon {
  public:
    Daemon(rpc::Loop& loop, StepdOptions options, api::LaunchOrder order)
        : job_(loop, std::move(options), order),
          loop_(loop),
          launch_(std::move(order), job_.order.grant_index == 0 && has_script()),
          batch_(job_),
          node_steps_(job_),
          runner_(job_, node_steps_, [this](const api::StepRecord& record) { publish(record); }) {}

    [[nodiscard]] Status start();

  private:
    [[nodiscard]] bool has_script() const { return !job_.order.launch.script.empty(); }
    [[nodiscard]] Result<rpc::Server> listen(const std::string& path);
    void tell_ready() const;

    void handle(rpc::Call call);
    void handle_agent(rpc::Call call);
    void handle_order(rpc::Call& call);
    void handle_signal(rpc::Call& call);
    void handle_run_step(rpc::Call call);
    void handle_launch_tasks(rpc::Call call);
    [[nodiscard]] bool is_ours(const rpc::Peer& peer) const;
    [[nodiscard]] bool may_run(const rpc::Peer& peer, const std::string& secret) const;

    void perform(const Effects& effects);
    void perform(const Effect& effect);
    void start_batch();
    void send_signal(const Effect& effect);
    void say_ending(api::StopReason reason);
    void kill_all();
    void look_if_empty();
    void write_exit();
    void wake();
    void publish();
    void publish(const api::StepRecord& record);
    [[nodiscard]] api::ObservedRun observed() const;
    /// The end is told once its record is there.
    [[nodiscard]] api::ObservedRun shown() const;

    Job job_;
    rpc::Loop& loop_;
    Launch launch_;
    Batch batch_;
    NodeSteps node_steps_;
    StepRunner runner_;
    std::optional<rpc::Server> agent_server_, user_server_;
    std::vector<rpc::Call> watchers_, step_watchers_;
    std::optional<api::Usage> usage_;  ///< As it was when nothing was left.
    bool watch_empty_ = false, killing_ = false, written_ = false;
    rpc::Timer wake_timer_, kill_timer_, empty_timer_, soon_timer_, linger_timer_;
    rpc::Watch on_term_;
};

Result<rpc::Server> Daemon::listen(const std::string& path) {
    rpc::ServerOptions options;
    // srun may be stopped by its user for as long as that user likes.
    options.write_stall_max = Millis(0);
    options.software = std::string(api::kStepdProgram);
    return rpc::Server::listen(loop_, "unix:" + path, std::move(options), [this](rpc::Call call) {
        handle(std::move(call));
    });
}

Status Daemon::start() {
    on_term_ = loop_.on_signal(SIGTERM, [this] {
        if (written_) loop_.stop();
    });
    TRY(agent_server_, listen(job_.file(StepdFiles::kSocket)));
    Status ready = prepare(job_);
    if (ready && !job_.user_socket.empty()) {
        Result<rpc::Server> server = listen(job_.user_socket);
        if (server) {
            user_server_ = *std::move(server);
        } else {
            ready = fail(std::move(server).error());
        }
    }
    job_.children.on_any([this] {
        // A fork bomb ends in thousands: one look for many.
        const bool ending = watch_empty_ || killing_;
        if (ending && !soon_timer_.active()) {
            soon_timer_ = loop_.after(kSoon, [this] { look_if_empty(); });
        }
    });
    tell_ready();
    os::log_info("job {} on {}: {}",
                 job_.order.job.value(),
                 job_.options.node,
                 ready ? job_.factory->describe() : ready.error().message());
    perform(ready ? launch_.prepared() : launch_.prepare_failed(ready.error().message()));
    return {};
}

void Daemon::tell_ready() const {
    if (job_.options.ready_fd < 0) return;
    [[maybe_unused]] const ssize_t count = ::write(job_.options.ready_fd, "1", 1);
    ::close(job_.options.ready_fd);
}

bool Daemon::is_ours(const rpc::Peer& peer) const {
    return peer.uid == 0 || peer.uid == ::geteuid();
}

bool Daemon::may_run(const rpc::Peer& peer, const std::string& secret) const {
    if (is_ours(peer) || peer.uid == job_.order.uid) return true;
    return !job_.order.secret.empty() && secret == job_.order.secret;
}

void Daemon::handle(rpc::Call call) {
    switch (static_cast<wire::Method>(call.method())) {
        case wire::Method::RunStep:
            return handle_run_step(std::move(call));
        case wire::Method::LaunchTasks:
            return handle_launch_tasks(std::move(call));
        default:
            return handle_agent(std::move(call));
    }
}

void Daemon::handle_agent(rpc::Call call) {
    if (!is_ours(call.peer())) return call.fail({ErrorCode::Denied, "Access/permission denied"});
    switch (static_cast<wire::Method>(call.method())) {
        case wire::Method::StepdOrder:
            return handle_order(call);
        case wire::Method::StepdSignal:
            return handle_signal(call);
        case wire::Method::StepdWatch:
            (void)call.send_part(wire::encode(shown()));
            watchers_.push_back(std::move(call));
            return;
        case wire::Method::StepdSteps:
            for (const api::StepRecord& record : runner_.records())
                (void)call.send_part(wire::encode(record));
            step_watchers_.push_back(std::move(call));
            return;
        default:
            return call.fail({ErrorCode::InvalidArgument, "not a request for a step daemon"});
    }
}

void Daemon::handle_order(rpc::Call& call) {
    const Result<api::DesiredRun> run = wire::decode<api::DesiredRun>(call.payload());
    if (!run) return call.fail(run.error());
    if (run->launch.key != job_.order.key) {
        return call.fail({ErrorCode::InvalidArgument, "another launch's order"});
    }
    const bool waited = launch_.state() == RunState::Ready;
    const Effects effects = launch_.ordered(*run, os::boot_now());
    runner_.set_kill_wait(launch_.kill_wait());
    if (waited && launch_.state() == RunState::Running) {
        job_.order = launch_.order();
        runner_.open();
    }
    perform(effects);
    call.reply({});
}

void Daemon::handle_signal(rpc::Call& call) {
    const Result<api::SignalOrder> order = wire::decode<api::SignalOrder>(call.payload());
    if (!order) return call.fail(order.error());
    perform(launch_.signal_ordered(*order));
    call.reply({});
}

void Daemon::handle_run_step(rpc::Call call) {
    Result<api::StepRequest> request = wire::decode<api::StepRequest>(call.payload());
    if (!request) return call.fail(request.error());
    if (!may_run(call.peer(), request->secret)) {
        return call.fail({ErrorCode::Denied, "Access/permission denied"});
    }
    runner_.run(std::move(call), *std::move(request));
}

namespace {

/// The job's own users may write this message by hand; the daemon is root's.
bool fits_this_node(const api::StepLaunch& launch, const api::LaunchOrder& order) {
    // More tasks than cpus are allowed (--overlap, --overcommit), but not without end.
    constexpr std::uint32_t kTasksMax = 4'096;
    const std::size_t nodes = order.gang.nodes.size();
    const bool counts = launch.tasks <= kTasksMax &&
                        launch.total_tasks <= kTasksMax * std::max<std::size_t>(nodes, 1) &&
                        launch.first_task <= launch.total_tasks &&
                        launch.tasks <= launch.total_tasks - launch.first_task;
    const bool places = launch.nodes.size() <= nodes &&
                        launch.tasks_per_node.size() == launch.nodes.size() &&
                        launch.node_index < std::max<std::size_t>(launch.nodes.size(), 1);
    const auto cpus = std::max<std::size_t>(order.grant.cpus.size(),
                                            static_cast<std::size_t>(order.grant.cpu_milli / 1000));
    const bool parts =
        launch.cpus.size() <= cpus && launch.devices.size() <= order.grant.devices.size();
    return counts && places && parts;
}

}  // namespace

void Daemon::handle_launch_tasks(rpc::Call call) {
    Result<api::StepLaunch> launch = wire::decode<api::StepLaunch>(call.payload());
    if (!launch) return call.fail(launch.error());
    if (!may_run(call.peer(), launch->secret)) {
        return call.fail({ErrorCode::Denied, "Access/permission denied"});
    }
    if (launch_.state() != RunState::Running) {
        return call.fail({ErrorCode::Conflict, "Job/step already completing or completed"});
    }
    if (!fits_this_node(*launch, job_.order)) {
        return call.fail({ErrorCode::InvalidArgument, "More processors requested than permitted"});
    }
    // Owners: the sink and the callbacks of one step.
    const auto shared = std::make_shared<rpc::Call>(std::move(call));
    const auto handle = std::make_shared<NodeSteps::Handle>(0);
    const auto with_tasks = [this, handle](auto act) {
        if (NodeStep* tasks = node_steps_.find(*handle)) act(*tasks);
    };
    *handle = node_steps_.start(
        *std::move(launch),
        [shared](const api::StepEvent& event) {
            return shared->send_part(wire::encode(event)) != rpc::Flow::Paused;
        },
        [shared] { shared->finish(); });
    shared->on_writable([with_tasks] { with_tasks([](NodeStep& tasks) { tasks.resume(); }); });
    shared->on_cancel([this, with_tasks] {
        with_tasks([this](NodeStep& tasks) { tasks.end(launch_.kill_wait()); });
    });
    shared->on_part([with_tasks](const std::string& part, bool) {
        const Result<api::StepEvent> event = wire::decode<api::StepEvent>(part);
        if (!part.empty() && event) with_tasks([&](NodeStep& tasks) { tasks.take(*event); });
    });
}

void Daemon::perform(const Effects& effects) {
    for (const Effect& effect : effects)
        perform(effect);
    wake();
}

void Daemon::perform(const Effect& effect) {
    switch (effect.kind) {
        case Effect::Kind::StartBatch:
            return start_batch();
        case Effect::Kind::Signal:
            return send_signal(effect);
        case Effect::Kind::SayEnding:
            return say_ending(effect.reason);
        case Effect::Kind::KillAll:
            killing_ = true;
            return kill_all();
        case Effect::Kind::WatchEmpty:
            watch_empty_ = true;
            return look_if_empty();
        case Effect::Kind::Publish:
            return publish();
        case Effect::Kind::WriteExit:
            return write_exit();
    }
}

/// The core's time: limits, warnings, the kill after kill_wait.
void Daemon::wake() {
    wake_timer_ = {};
    const std::optional<Millis> due = launch_.next_wakeup();
    if (!due) return;
    // Bounded, as the loop's clock stands still while the machine sleeps and the boot clock does
    // not.
    constexpr Millis kSleepMax{10'000};
    const Millis delay = std::clamp(*due - os::boot_now(), Millis(0), kSleepMax);
    wake_timer_ = loop_.after(delay, [this] { perform(launch_.tick(os::boot_now())); });
}

void Daemon::start_batch() {
    const auto started = batch_.start([this](ProcessEnd end) {
        const std::uint64_t kills = batch_.oom_kills();
        if (kills > 0) {
            batch_.say(oom_line(kills, std::to_string(job_.order.job.value()) + ".batch"));
        }
        perform(launch_.shell_ended(end, kills));
        look_if_empty();
    });
    if (started) return launch_.batch_started(os::wall_now());
    os::log_error("job {}: {}", job_.order.job.value(), started.error().why);
    perform(launch_.start_failed(started.error().end, started.error().why));
}

void Daemon::send_signal(const Effect& effect) {
    switch (effect.scope) {
        case api::SignalScope::BatchShell:
            return batch_.signal(effect.signal);
        case api::SignalScope::Steps:
            return node_steps_.signal_all(effect.signal);
        case api::SignalScope::All:
            break;
    }
    const Status sent = job_.container->signal_all(effect.signal);
    if (!sent) os::log_warning("signal {}: {}", effect.signal, sent.error().message());
}

void Daemon::say_ending(api::StopReason reason) {
    if (reason == api::StopReason::GangEnded) return;
    const std::string what = "JOB " + std::to_string(job_.order.job.value());
    batch_.say(ending_line(what, job_.options.node, local_time_now(), reason));
    runner_.say_ending(reason);
}

/// Again and again until nobody is left: what is stuck in the kernel may take its time.
void Daemon::kill_all() {
    const Status killed = job_.container ? job_.container->kill_all(kKillPatience) : Status();
    if (killed) return look_if_empty();
    os::log_info("kill: {}", killed.error().message());
    kill_timer_ = loop_.after(kKillRetry, [this] { kill_all(); });
}

void Daemon::look_if_empty() {
    const bool ending = (watch_empty_ || killing_) && launch_.state() != RunState::Ended;
    if (!ending) return;
    empty_timer_ = {};
    const bool left = job_.container && !job_.container->pids().empty();
    if (!left && node_steps_.empty() && !launch_.shell_runs()) {
        return perform(launch_.emptied(os::wall_now()));
    }
    empty_timer_ = loop_.after(kEmptyLook, [this] { look_if_empty(); });
}

void Daemon::write_exit() {
    if (!usage_) {
        runner_.close();
        usage_ = job_.usage();
        clean_up(job_);
        // Posted: a server must not go inside its own handler, which may have brought us here.
        loop_.post([this] { user_server_.reset(); });
    }
    if (job_.container) {
        // The cgroups go before the record: who reads it may take the node for empty.
        const Status gone = job_.container->remove(kRemovePatience);
        if (!gone) os::log_warning("{}", gone.error().message());
    }
    std::string steps;
    for (const api::StepRecord& record : runner_.records())
        wire::append_row(record, steps);
    Status written = os::write_file_atomic(job_.file(StepdFiles::kSteps), steps);
    if (written) {
        written = os::write_file_atomic(job_.file(StepdFiles::kExit), wire::encode(observed()));
    }
    if (!written) {
        os::log_error("exit record: {}", written.error().message());
        kill_timer_ = loop_.after(kWriteRetry, [this] { write_exit(); });
        return;
    }
    written_ = true;
    os::log_info("job {}: over", job_.order.job.value());
    publish();
    linger_timer_ = loop_.after(api::kStepdLinger, [this] { loop_.stop(); });
}

api::ObservedRun Daemon::observed() const {
    api::ObservedRun run = launch_.observed();
    run.usage = usage_ ? *usage_ : job_.usage();
    run.address = "unix:" + job_.file(StepdFiles::kSocket);
    return run;
}

api::ObservedRun Daemon::shown() const {
    api::ObservedRun run = observed();
    if (run.phase != api::Phase::Ended || written_) return run;
    run.phase = api::Phase::Ending;
    run.outcome = {};
    return run;
}

void Daemon::publish() {
    if (launch_.state() == RunState::Ended && !written_) return;
    std::erase_if(watchers_, [](const rpc::Call& call) { return call.cancelled(); });
    const std::string bytes = wire::encode(observed());
    for (rpc::Call& call : watchers_)
        (void)call.send_part(bytes);
}

void Daemon::publish(const api::StepRecord& record) {
    std::erase_if(step_watchers_, [](const rpc::Call& call) { return call.cancelled(); });
    const std::string bytes = wire::encode(record);
    for (rpc::Call& call : step_watchers_)
        (void)call.send_part(bytes);
}

Status serve(const StepdOptions& options) {
    const auto file = [&](std::string_view name) { return options.dir + '/' + std::string(name); };
    TRY(const std::string bytes, os::read_file(file(StepdFiles::kLaunch)));
    TRY(api::LaunchOrder order, wire::decode<api::LaunchOrder>(bytes));
    TRY_STATUS(os::become_subreaper());
    TRY_STATUS(os::write_pid_file(file(StepdFiles::kPid), os::own_process_id()));
    rpc::Loop loop;
    Daemon daemon(loop, options, std::move(order));
    TRY_STATUS(daemon.start());
    loop.run();
    return {};
}

}  // namespace

Status run_stepd(const StepdOptions& options) {
    ::signal(SIGPIPE, SIG_IGN);
    ::umask(022);
    const Result<os::Fd> lock = os::lock_file(options.dir + '/' + std::string(StepdFiles::kLock));
    if (!lock && lock.error().code() == ErrorCode::Conflict) return {};
    if (!lock) return fail(lock.error());
    const std::string exit = options.dir + '/' + std::string(StepdFiles::kExit);
    if (::access(exit.c_str(), F_OK) == 0) return {};
    return serve(options);
}

}  // namespace twinyard::step
