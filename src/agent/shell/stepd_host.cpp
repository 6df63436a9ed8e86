// The real step daemons of one node. Life of a launch here: start() fetches script and environment,
// fork_if_ready() writes the folder and starts the daemon, wait_until_it_listens() and connect()
// join it; what it says goes to the core. look() finds out what became of one that is not, or no
// longer, connected: its exit record, the living daemon, or nothing, and then bury() makes sure
// that nothing is left before it is said. forget() removes the folder.
#include "agent/shell/stepd_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agent/shell/plain_file.h"
#include "api/stepd.h"
#include "os/files.h"
#include "os/log.h"
#include "os/spawn.h"
#include "wire/messages.h"

namespace twinyard::agent {
namespace {

using api::StepdFiles;
using api::StepdFlags;

constexpr Millis kFetchRetry{1'000};
/// After this the connection is tried whatever the daemon says of its readiness.
constexpr Millis kListenPatience{2'000};
constexpr Millis kLookRetry{500};
/// How long the loop stands still for processes that do not die; then it is tried again later.
constexpr Millis kKillPatience{1'000};
constexpr Millis kRemovePatience{200};
constexpr int kReadyFd = 3;

std::string file_in(const std::string& folder, std::string_view name) {
    return folder + '/' + std::string(name);
}

bool exists(const std::string& path) {
    struct ::stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* dir = ::opendir(folder.c_str());
    if (dir == nullptr) return names;
    while (const dirent* entry = ::readdir(dir)) {
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    ::closedir(dir);
    return names;
}

/// Of a step daemon that is dead and could not do it itself.
void remove_spool(const std::string& folder) {
    const Result<std::string> path = os::read_file(file_in(folder, StepdFiles::kSpool));
    if (!path || path->empty()) return;
    const Status removed = os::remove_tree(*path);
    if (!removed) os::log_warning("spool: {}", removed.error().message());
}

/// What the job's first part needs of the blobs; the others start nothing of the submitter's own.
std::vector<ContentHash> blobs_of(const api::LaunchOrder& order) {
    std::vector<ContentHash> blobs;
    if (order.grant_index == 0 && !order.launch.script.empty())
        blobs.push_back(order.launch.script);
    if (!order.launch.environment.empty()) blobs.push_back(order.launch.environment);
    return blobs;
}

}  // namespace

struct StepdHost::Job {
    api::LaunchOrder order;
    std::string name, folder;
    std::vector<ContentHash> held;  ///< Blobs that it needs of the cache.
    std::size_t missing = 0;        ///< Of those, not there yet.
    bool forked = false;
    bool over = false;
    os::ProcessId id;
    std::unique_ptr<StepdLink> link;
    os::Fd ready_fd;
    rpc::Watch ready;
    rpc::Timer timer;

    [[nodiscard]] const api::LaunchKey& key() const { return order.key; }
};

StepdHost::StepdHost(rpc::Loop& loop,
                     StepdSetup setup,
                     os::ContainerFactory& containers,
                     BlobCache& blobs,
                     OnEvent on_event)
    : loop_(loop),
      setup_(std::move(setup)),
      containers_(containers),
      blobs_(blobs),
      on_event_(std::move(on_event)),
      on_child_(loop.on_signal(SIGCHLD, [this] { reap(); })),
      alive_(std::make_shared<bool>(true)) {}

StepdHost::~StepdHost() {
    *alive_ = false;
}

StepdHost::Job* StepdHost::find(const api::LaunchKey& key) {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : found->second.get();
}

void StepdHost::raise(Event event) {
    auto shared = std::make_shared<Event>(std::move(event));
    loop_.post([this, shared, alive = alive_] {
        if (*alive) on_event_(std::move(*shared));
    });
}

void StepdHost::perform(const Effect& effect) {
    if (const auto* one = std::get_if<StartStepd>(&effect)) return start(*one);
    if (const auto* one = std::get_if<AdoptStepd>(&effect)) return adopt(*one);
    if (const auto* one = std::get_if<TellStepd>(&effect)) return tell(*one);
    if (const auto* one = std::get_if<SignalStepd>(&effect)) return signal(*one);
    if (const auto* one = std::get_if<ForgetLocal>(&effect)) return forget(*one);
}

void StepdHost::start(const StartStepd& effect) {
    auto& job = jobs_[effect.order.key] = std::make_unique<Job>();
    job->order = effect.order;
    job->name = api::launch_folder_name(effect.order.key);
    job->folder = jobs_folder() + '/' + job->name;
    const std::vector<ContentHash> blobs = blobs_of(job->order);
    job->missing = blobs.size();
    const api::LaunchKey key = job->key();
    fork_if_ready(*job);
    for (const ContentHash& hash : blobs) {
        if (Job* still = find(key)) fetch(*still, hash);
    }
}

void StepdHost::fetch(Job& job, const ContentHash& hash) {
    if (job.over) return;
    job.held.push_back(hash);
    blobs_.need(
        hash, [this, key = job.key(), hash](const Status& status) { on_blob(key, hash, status); });
}

void StepdHost::on_blob(const api::LaunchKey& key, const ContentHash& hash, const Status& status) {
    Job* job = find(key);
    if (job == nullptr || job->over) return;
    if (status) {
        --job->missing;
        return fork_if_ready(*job);
    }
    std::erase(job->held, hash);
    blobs_.release(hash);
    if (status.error().code() == ErrorCode::NotFound)
        return gone(*job, true, "its script or environment is not at the controller any more");
    os::log_warning("launch {}: fetch: {}", job->name, status.error().message());
    job->timer = loop_.after(kFetchRetry, [this, key, hash] {
        if (Job* still = find(key)) fetch(*still, hash);
    });
}

void StepdHost::fork_if_ready(Job& job) {
    if (job.missing > 0 || job.forked || job.over) return;
    Status status = write_folder(job);
    if (status) status = fork(job);
    if (status) return;
    os::log_error("launch {}: {}", job.name, status.error().message());
    gone(job, true, status.error().message());
}

Status StepdHost::write_folder(const Job& job) const {
    TRY_STATUS(os::make_private_folder(job.folder));
    TRY_STATUS(write_plain_file(file_in(job.folder, StepdFiles::kLaunch), wire::encode(job.order)));
    const model::LaunchSpec& launch = job.order.launch;
    if (job.order.grant_index == 0 && !launch.script.empty()) {
        TRY_STATUS(blobs_.link_to(launch.script, file_in(job.folder, StepdFiles::kScript)));
    }
    const std::string environment = file_in(job.folder, StepdFiles::kEnvironment);
    if (launch.environment.empty()) return write_plain_file(environment, {});
    return blobs_.link_to(launch.environment, environment);
}

std::vector<std::string> StepdHost::argv(const Job& job) const {
    std::vector<std::string> argv = {setup_.program};
    const auto add = [&](std::string_view flag, const std::string& value) {
        if (value.empty()) return;
        argv.emplace_back(flag);
        argv.push_back(value);
    };
    add(StepdFlags::kDir, job.folder);
    add(StepdFlags::kNode, setup_.node);
    add(StepdFlags::kNodeDir, setup_.folder);
    add(StepdFlags::kContainers, setup_.containers);
    add(StepdFlags::kSlurmConf, setup_.slurm_conf);
    add(StepdFlags::kBin, setup_.bin);
    add(StepdFlags::kReadyFd, std::to_string(kReadyFd));
    if (setup_.node_hostname) argv.emplace_back(StepdFlags::kNodeHostname);
    if (setup_.cpuset_alone) argv.emplace_back(StepdFlags::kCpusetAlone);
    return argv;
}

/// In a session of its own, so that it outlives us; we are told of its end while we live.
Status StepdHost::fork(Job& job) {
    TRY(os::Pipe pipe, os::make_pipe());
    os::SpawnRequest request;
    request.argv = argv(job);
    request.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
    request.cwd = "/";
    request.umask = 022;
    request.stdin_stream = os::PathStream{.path = "/dev/null", .flags = O_RDONLY};
    request.stdout_stream = os::PathStream{.path = "/dev/null", .flags = O_WRONLY};
    request.stderr_stream = os::PathStream{.path = file_in(job.folder, StepdFiles::kLog),
                                           .flags = O_WRONLY | O_CREAT | O_APPEND,
                                           .mode = 0600};
    request.fds = {{pipe.write_end.get(), kReadyFd}};
    const auto id = os::spawn(request);
    if (!id) return fail(ErrorCode::Unavailable, "the step daemon: " + id.error().message);
    job.forked = true;
    job.id = *id;
    children_[id->pid] = job.key();
    raise(StepdStarted{0, job.key(), id->pid, id->start_time});
    wait_until_it_listens(job, std::move(pipe.read_end));
    return {};
}

void StepdHost::wait_until_it_listens(Job& job, os::Fd ready) {
    job.ready_fd = std::move(ready);
    const auto go_on = [this, key = job.key()] {
        Job* found = find(key);
        if (found == nullptr) return;
        found->ready.cancel();
        found->ready_fd.reset();
        found->timer.cancel();
        if (!found->over) connect(*found);
    };
    job.ready =
        loop_.watch_fd(job.ready_fd.get(), rpc::kFdReadable, [go_on](rpc::FdEvents) { go_on(); });
    job.timer = loop_.after(kListenPatience, go_on);
}

void StepdHost::connect(Job& job) {
    if (job.link != nullptr) return;
    const api::LaunchKey key = job.key();
    StepdCallbacks callbacks;
    callbacks.on_connected = [this, key] { raise(StepdConnected{0, key}); };
    callbacks.on_run = [this, key](api::ObservedRun run) {
        Job* found = find(key);
        if (found == nullptr || found->over || run.key != key) return;
        if (run.phase == api::Phase::Ended) return finish(*found, std::move(run));
        raise(StepdObserved{0, std::move(run)});
    };
    callbacks.on_step = [this, key](api::StepRecord record) {
        if (record.key == key) raise(StepSeen{0, std::move(record)});
    };
    callbacks.on_lost = [this, key] {
        Job* found = find(key);
        if (found != nullptr && !children_.contains(found->id.pid)) look(*found);
    };
    auto link =
        StepdLink::open(loop_, file_in(job.folder, StepdFiles::kSocket), std::move(callbacks));
    if (link) {
        job.link = std::move(*link);
    } else {
        os::log_error("launch {}: {}", job.name, link.error().message());
    }
}

void StepdHost::reap() {
    while (const auto status = os::reap_any()) {
        const auto child = children_.find(status->id.pid);
        if (child == children_.end()) continue;
        const api::LaunchKey key = child->second;
        children_.erase(child);
        if (Job* job = find(key)) look(*job);
    }
}

void StepdHost::adopt(const AdoptStepd& effect) {
    auto& job = jobs_[effect.order.key] = std::make_unique<Job>();
    job->order = effect.order;
    job->name = api::launch_folder_name(effect.order.key);
    job->folder = jobs_folder() + '/' + job->name;
    job->forked = true;
    job->id = {effect.pid, effect.start_time};
    look(*job);
}

void StepdHost::look(Job& job) {
    if (job.over) return;
    const Result<std::string> bytes = os::read_file(file_in(job.folder, StepdFiles::kExit));
    if (bytes) {
        Result<api::ObservedRun> run = wire::decode<api::ObservedRun>(*bytes);
        if (run && run->key == job.key()) return finish(job, std::move(*run));
        os::log_error("launch {}: its exit record cannot be read", job.name);
    }
    const Result<os::ProcessId> id = os::read_pid_file(file_in(job.folder, StepdFiles::kPid));
    if (id) job.id = *id;
    if (os::is_alive(job.id)) return connect(job);  // A link that fails makes us look again.
    Result<os::Fd> lock = os::lock_file(file_in(job.folder, StepdFiles::kLock));
    if (lock) return bury(job, std::move(*lock));
    if (lock.error().code() == ErrorCode::NotFound)
        return gone(job, true, "the agent ended before it was started");
    look_again(job);
}

/// For the time until it is connected, or stuck processes are gone.
void StepdHost::look_again(Job& job) {
    job.timer = loop_.after(kLookRetry, [this, key = job.key()] {
        Job* found = find(key);
        if (found != nullptr) look(*found);
    });
}

/// Nobody holds its lock: one that still starts finds ours, or the exit record that we leave.
void StepdHost::bury(Job& job, os::Fd lock) {
    const Status empty = empty_container(job.name);
    if (!empty) {
        os::log_error("launch {}: {}", job.name, empty.error().message());
        return look_again(job);
    }
    remove_spool(job.folder);
    const bool never_started = !exists(file_in(job.folder, StepdFiles::kPid));
    const std::string why =
        never_started ? "the step daemon did not start" : "the step daemon vanished";
    api::ObservedRun run;
    run.key = job.key();
    run.phase = api::Phase::Ended;
    run.outcome = {
        .kind = never_started ? model::EndKind::LaunchFailed : model::EndKind::NodeFailed,
        .detail = why};
    const Status written =
        os::write_file_atomic(file_in(job.folder, StepdFiles::kExit), wire::encode(run));
    if (!written) {
        os::log_error("launch {}: {}", job.name, written.error().message());
        return look_again(job);
    }
    lock.reset();
    gone(job, never_started, why);
}

Status StepdHost::empty_container(const std::string& name) {
    TRY(const auto container, containers_.create(name, 0));
    TRY_STATUS(container->kill_all(kKillPatience));
    return container->remove(kRemovePatience);
}

void StepdHost::finish(Job& job, api::ObservedRun run) {
    report_steps(job);
    raise(StepdObserved{0, std::move(run)});
    const Result<os::ProcessId> id = os::read_pid_file(file_in(job.folder, StepdFiles::kPid));
    if (id && os::is_alive(*id)) (void)os::send_signal(*id, SIGTERM);
    close(job);
}

/// What the live stream told may lack the last of them.
void StepdHost::report_steps(const Job& job) {
    const Result<std::string> bytes = os::read_file(file_in(job.folder, StepdFiles::kSteps));
    if (!bytes) return;
    const Status read = wire::for_each_row<api::StepRecord>(*bytes, [&](api::StepRecord record) {
        if (record.key == job.key()) raise(StepSeen{0, std::move(record)});
    });
    if (!read) os::log_error("launch {}: steps: {}", job.name, read.error().message());
}

void StepdHost::gone(Job& job, bool never_started, std::string detail) {
    if (!never_started) report_steps(job);
    raise(StepdGone{0, job.key(), never_started, std::move(detail)});
    close(job);
}

/// The link goes later: it may be the one that called us.
void StepdHost::close(Job& job) {
    job.over = true;
    job.timer.cancel();
    for (const ContentHash& hash : std::exchange(job.held, {}))
        blobs_.release(hash);
    if (job.link == nullptr) return;
    closing_.push_back(std::move(job.link));
    loop_.post([this, alive = alive_] {
        if (*alive) closing_.clear();
    });
}

void StepdHost::tell(const TellStepd& effect) {
    Job* job = find(effect.run.launch.key);
    if (job == nullptr || job->over) return;
    if (!job->forked && effect.run.stage == api::Stage::Stop)
        return gone(*job, true, "it was stopped before it was started");
    if (job->link != nullptr) job->link->order(effect.run);
}

void StepdHost::signal(const SignalStepd& effect) {
    Job* job = find(effect.order.key);
    if (job != nullptr && !job->over && job->link != nullptr) job->link->signal(effect.order);
}

void StepdHost::forget(const ForgetLocal& effect) {
    const std::string folder = jobs_folder() + '/' + api::launch_folder_name(effect.key);
    if (Job* job = find(effect.key)) close(*job);
    jobs_.erase(effect.key);
    const Result<os::ProcessId> id = os::read_pid_file(file_in(folder, StepdFiles::kPid));
    if (id && os::is_alive(*id)) (void)os::send_signal(*id, SIGTERM);
    const Status removed = os::remove_tree(folder);
    if (!removed) os::log_warning("{}", removed.error().message());
}

void StepdHost::sweep(const std::set<api::LaunchKey>& known) {
    std::set<std::string> kept;
    for (const api::LaunchKey& key : known)
        kept.insert(api::launch_folder_name(key));
    std::set<std::string> found;
    for (const std::string& name : names_in(jobs_folder()))
        found.insert(name);
    for (const std::string& name : containers_.existing())
        found.insert(name);
    for (const std::string& name : found) {
        if (!kept.contains(name)) remove_leftover(name);
    }
}

void StepdHost::remove_leftover(const std::string& name) {
    os::log_warning("launch {} is not in the journal: what is left of it is removed", name);
    const std::string folder = jobs_folder() + '/' + name;
    const Result<os::ProcessId> id = os::read_pid_file(file_in(folder, StepdFiles::kPid));
    if (id && os::is_alive(*id)) (void)os::send_signal(*id, SIGKILL);
    const Status empty = empty_container(name);
    if (!empty) os::log_error("launch {}: {}", name, empty.error().message());
    remove_spool(folder);
    const Status removed = os::remove_tree(folder);
    if (!removed) os::log_error("{}", removed.error().message());
}

}  // namespace twinyard::agent
