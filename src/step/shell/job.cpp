#include "step/shell/job.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "api/stepd.h"
#include "os/boot_clock.h"
#include "os/files.h"
#include "os/log.h"
#include "slurm/calendar.h"

namespace twinyard::step {

namespace {

constexpr std::int64_t kMicrosPerMilli = 1'000;

os::Identity find_identity(const api::LaunchOrder& order) {
    Result<os::Identity> known = os::identity_of(order.uid, order.gid);
    if (known) return *std::move(known);
    os::log_warning("groups of uid {}: {}", order.uid, known.error().message());
    return {.uid = order.uid, .gid = order.gid, .groups = {order.gid}};
}

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return {};
    return name;
}

slurm::HostFacts find_host_facts(const Job& job) {
    slurm::HostFacts host;
    host.node_name = job.options.node;
    host.host_name = job.options.node_hostname ? job.options.node : host_name();
    host.user_name = os::user_name(job.order.uid);
    host.group_name = os::group_name(job.order.gid);
    if (const Result<os::User> user = os::user_by_uid(job.order.uid)) {
        host.home = user->home;
        host.shell = user->shell;
    }
    host.slurm_conf = job.options.slurm_conf;
    host.command_folder = job.options.bin;
    host.cpus_on_node = static_cast<std::uint32_t>(job.order.grant.cpus.size());
    return host;
}

void limit(Job& job) {
    const model::NodeGrant& grant = job.order.grant;
    const std::vector<int> cpus(grant.cpus.begin(), grant.cpus.end());
    if (!job.options.cpuset_alone && !cpus.empty()) {
        if (const Status set = job.container->set_cpuset(cpus); !set) {
            os::log_info("cpuset: {}", set.error().message());
            cpu_set_t own;
            CPU_ZERO(&own);
            ::sched_getaffinity(0, sizeof own, &own);
            std::ranges::copy_if(cpus, std::back_inserter(job.affinity), [&](int cpu) {
                return cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &own);
            });
        }
    }
    if (grant.memory_bytes <= 0 || !job.factory->limits_memory()) return;
    const auto bytes = static_cast<std::uint64_t>(grant.memory_bytes);
    if (const Status set = job.container->set_memory_limit(bytes); !set) {
        os::log_warning("memory limit: {}", set.error().message());
    }
}

/// The names of all nodes on this host, if the agent wrote them down; else the gang's.
std::vector<std::string> names_on_host(const Job& job) {
    std::vector<std::string> names;
    std::istringstream words(
        os::read_file(job.options.node_dir + "/hosts", std::size_t{4} << 20).value_or(""));
    for (std::string word; words >> word;)
        names.push_back(word);
    for (const std::string& name : job.order.gang.nodes) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
}

void choose_namespaces(Job& job) {
    if (!job.options.node_hostname) return;
    const os::NamespaceProbe probe = os::probe_namespaces();
    if (probe.mode == os::NamespaceMode::Impossible) {
        os::log_warning("node names do not resolve inside jobs: {}", probe.reason);
        return;
    }
    const std::string hosts = job.file("hosts");
    if (const Status written = os::write_hosts_file(hosts, names_on_host(job)); !written) {
        os::log_warning("hosts file: {}", written.error().message());
        return;
    }
    job.namespaces.hostname = job.options.node;
    job.namespaces.hosts_file = hosts;
}

Status make_folder(const std::string& path, mode_t mode) {
    if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
    return fail(os::system_error(errno, "mkdir " + path));
}

/// When the whole host runs out of memory the job goes, not who has to tell of it.
bool protect_from_oom() {
    const os::Fd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    return file && os::write_all(file.get(), "-900").has_value();
}

/// Can the user get there? Private parents may be in the way.
bool user_reaches(const Job& job, const std::string& path) {
    return os::open_as_user(job.identity, path, O_PATH | O_DIRECTORY | O_NONBLOCK).has_value();
}

Status make_spool(Job& job) {
    std::string name = "job" + std::to_string(job.order.job.value());
    const std::string parent = job.options.node_dir + "/spool";
    const std::string wanted = parent + '/' + name;
    if (const Status made = make_folder(parent, 0711); made && user_reaches(job, parent)) {
        TRY_STATUS(os::remove_tree(wanted));
        TRY_STATUS(make_folder(wanted, 0755));
        job.spool = wanted;
        return {};
    }
    std::string elsewhere = "/tmp/twinyard-" + name + "-XXXXXX";
    if (::mkdtemp(elsewhere.data()) == nullptr || ::chmod(elsewhere.c_str(), 0755) != 0) {
        return fail(os::system_error(errno, "make " + elsewhere));
    }
    job.spool = elsewhere;
    return {};
}

/// The folder is ours alone, so nobody can have put a link in the way.
Status copy_script(const Job& job) {
    TRY(const std::string script, os::read_file(job.file(api::StepdFiles::kScript)));
    const std::string path = job.spool + "/slurm_script";
    const os::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
    if (!file) return fail(os::system_error(errno, path));
    TRY_STATUS(os::write_all(file.get(), script));
    const bool given =
        ::geteuid() != 0 || ::fchown(file.get(), job.identity.uid, job.identity.gid) == 0;
    if (!given || ::fchmod(file.get(), 0700) != 0) return fail(os::system_error(errno, path));
    return {};
}

}  // namespace

Children::Children(rpc::Loop& loop) {
    watch_ = loop.on_child_exit([this](const rpc::ChildExit& exit) {
        user_us_ += exit.user_cpu_us;
        system_us_ += exit.system_cpu_us;
        usage_.cpu_user = Millis(user_us_ / kMicrosPerMilli);
        usage_.cpu_system = Millis(system_us_ / kMicrosPerMilli);
        usage_.memory_peak_bytes = std::max(usage_.memory_peak_bytes, exit.memory_max_bytes);
        const auto found = told_.find(exit.pid);
        if (found != told_.end()) {
            auto told = std::move(found->second);
            told_.erase(found);
            told(exit);
        }
        if (any_) any_();
    });
}

void Children::watch(pid_t pid, std::move_only_function<void(const rpc::ChildExit&)> told) {
    told_[pid] = std::move(told);
}

api::Usage usage_of(const rpc::ChildExit& exit) {
    return {.cpu_user = Millis(exit.user_cpu_us / kMicrosPerMilli),
            .cpu_system = Millis(exit.system_cpu_us / kMicrosPerMilli),
            .memory_peak_bytes = exit.memory_max_bytes};
}

os::SpawnRequest Job::spawn_request(std::vector<std::string> environment) const {
    os::SpawnRequest request;
    request.env = std::move(environment);
    request.cwd = order.launch.work_dir;
    request.identity = identity;
    request.umask = static_cast<mode_t>(order.launch.umask & 0777);
    for (const model::ProcessLimit& limit : order.launch.limits) {
        request.limits.push_back({.resource = limit.resource, .soft = limit.soft, .hard = {}});
    }
    request.affinity = affinity;
    if (oom_protected) request.oom_score_adjust = 0;
    request.namespaces = namespaces;
    return request;
}

api::Usage Job::usage() const {
    api::Usage usage = children.usage();
    if (!container) return usage;
    const os::ContainerUsage seen = container->usage();
    const auto millis = [](std::chrono::nanoseconds time) {
        return std::chrono::duration_cast<Millis>(time);
    };
    if (seen.complete) {
        usage.cpu_user = millis(seen.cpu_user);
        usage.cpu_system = millis(seen.cpu_system);
    } else {
        usage.cpu_user += millis(seen.cpu_user);
        usage.cpu_system += millis(seen.cpu_system);
    }
    usage.memory_peak_bytes =
        std::max(usage.memory_peak_bytes, static_cast<std::int64_t>(seen.memory_peak_bytes));
    return usage;
}

Status prepare(Job& job) {
    job.oom_protected = protect_from_oom();
    job.identity = find_identity(job.order);
    job.host = find_host_facts(job);
    TRY(job.factory, os::detect_containers(job.options.containers));
    TRY(job.container, job.factory->create(api::launch_folder_name(job.order.key), ::getpid()));
    limit(job);
    choose_namespaces(job);
    if (job.order.grant_index != 0) return {};
    TRY_STATUS(make_spool(job));
    TRY_STATUS(os::write_file_atomic(job.file(api::StepdFiles::kSpool), job.spool, 0600));
    job.user_socket = job.spool + '/' + std::string(api::StepdFiles::kSocket);
    if (job.order.launch.script.empty()) return {};
    return copy_script(job);
}

void clean_up(Job& job) {
    if (job.spool.empty()) return;
    if (const Status gone = os::remove_tree(job.spool); !gone) {
        os::log_warning("spool: {}", gone.error().message());
    }
    // The next attempt's spool has the same name: nobody may take it for ours.
    ::unlink(job.file(api::StepdFiles::kSpool).c_str());
}

void write_now(int fd, std::string_view text) {
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    if (fd < 0 || ::poll(&ready, 1, 0) <= 0 || (ready.revents & POLLOUT) == 0) return;
    [[maybe_unused]] const ssize_t count = ::write(fd, text.data(), text.size());
}

std::string local_time_now() {
    return slurm::date_text(
        slurm::system_calendar(), os::wall_now().time_since_epoch().count(), "Unknown");
}

}  // namespace twinyard::step
