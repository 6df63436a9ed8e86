#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "os/files.h"
#include "os/linux/containers.h"

// Containers without cgroups. A process belongs to one when
//  - it was told to us (add_pid), or
//  - it descends from the reaper (orphans come back to it: PR_SET_CHILD_SUBREAPER), or
//  - its environment has the marker (a daemon whose parents are gone and whose reaper died), or
//  - it is in a session in which we saw a member (it cleared its environment and lost its parents),
//  or
//  - its parent belongs to it.
// So a process is only lost if it leaves all of these behind at once, which needs intent and a dead
// reaper.

namespace twinyard::os {

namespace {

constexpr int kStopRoundsMax = 50;
constexpr std::size_t kEnvironmentBytesMax = std::size_t{4} << 20;

/// The marker's value in a process's environment; empty when there is none or we may not look.
std::string marker_of(pid_t pid) {
    const std::string text =
        read_file("/proc/" + std::to_string(pid) + "/environ", kEnvironmentBytesMax)
            .value_or(std::string());
    std::string_view rest = text;
    // The last one counts: a child's marker is added behind what it got from its parent.
    std::string value;
    while (!rest.empty()) {
        const std::string_view variable = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
        if (variable.size() > kContainerMarker.size() && variable.starts_with(kContainerMarker) &&
            variable[kContainerMarker.size()] == '=') {
            value = variable.substr(kContainerMarker.size() + 1);
        }
    }
    return value;
}

/// The pid that the kernel gave last: new at each fork anywhere on the host.
std::string last_pid() {
    const std::string text = read_file("/proc/loadavg", 4096).value_or(std::string());
    return text.substr(text.rfind(' ') + 1);
}

/// Whether a group is still the one whose leader began at `start_time` (0: had ended). A number is
/// not given to a new process while a group has it: a leader that began at another time means that
/// the group is gone.
bool still_there(pid_t group, std::uint64_t start_time) {
    const Result<ProcessStat> leader = process_stat(group);
    if (leader) return leader->id.start_time == start_time;
    const Status there = send_signal_to_group(group, 0);
    return there || there.error().code() != ErrorCode::NotFound;
}

bool is_inside(std::string_view value, std::string_view name) {
    return value == name ||
           (value.size() > name.size() && value.starts_with(name) && value[name.size()] == '/');
}

/// A session leader that was told to one container; the outer ones know it too.
struct KnownLeader {
    std::string container;
    ProcessId id;
};
using KnownLeaders = std::vector<KnownLeader>;

class TrackerContainer final : public ProcessContainer {
  public:
    TrackerContainer(const std::string& base,
                     std::string name,
                     pid_t reaper,
                     std::shared_ptr<KnownLeaders> leaders)
        : name_(std::move(name)),
          marker_(base + '/' + name_),
          reaper_(reaper),
          leaders_(std::move(leaders)) {}

    const std::string& name() const override { return name_; }
    Result<ContainerEntry> entry() override;
    Status add_pid(pid_t pid) override;
    std::vector<ProcessId> pids() override;
    Status signal_all(int signal) override;
    Status freeze() override;
    Status thaw() override;
    Status kill_all(Millis patience) override;
    Status set_cpuset(std::span<const int>) override { return no_cgroups(); }
    Status set_memory_limit(std::uint64_t) override { return no_cgroups(); }
    Status deny_device(unsigned, unsigned) override { return no_cgroups(); }
    ContainerUsage usage() override;
    std::uint64_t oom_kills() override { return 0; }
    Status remove(Millis) override;

  private:
    [[nodiscard]] static Status no_cgroups() {
        return fail(ErrorCode::Unavailable, "no cgroups on this node");
    }
    /// Members now, dead ones left out.
    [[nodiscard]] std::vector<ProcessStat> members();
    void take_over_leaders();
    [[nodiscard]] bool all_stopped();
    /// True when surely nobody is left, also nobody who forks on and on and is never there when we
    /// look.
    [[nodiscard]] bool none_left(int looks_max);
    /// Signals every member, and every known process group as a whole, seen just now or not: a
    /// group signal cannot be evaded by forking, as the kernel holds a fork back while one is
    /// pending.
    void signal_firmly(const std::vector<ProcessStat>& found, int signal);
    [[nodiscard]] bool is_seed(const ProcessStat& process) const;
    [[nodiscard]] bool in_known_session(const ProcessStat& process,
                                        const std::map<pid_t, ProcessId>& by_pid) const;
    void forget_ended(const std::vector<ProcessStat>& found);
    void remember_sessions(const std::vector<ProcessStat>& found,
                           const std::map<pid_t, ProcessId>& by_pid);

    std::string name_;
    std::string marker_;
    pid_t reaper_;
    /// Owned by the factory and by each of its containers: either may go first.
    std::shared_ptr<KnownLeaders> leaders_;
    std::set<ProcessId> roots_;
    /// Sessions and process groups that began inside, with their leader's start time (0: it had
    /// ended when first seen). Kept until the kernel says that nobody is in them.
    std::map<pid_t, std::uint64_t> sessions_;
    std::map<pid_t, std::uint64_t> groups_;
    /// Sessions of adopted processes that began outside: never to be followed.
    std::set<pid_t> foreign_sessions_;
    std::uint64_t memory_peak_bytes_ = 0;
};

Result<ContainerEntry> TrackerContainer::entry() {
    ContainerEntry entry;
    entry.environment_marker = std::string(kContainerMarker) + '=' + marker_;
    return entry;
}

Status TrackerContainer::add_pid(pid_t pid) {
    TRY(const ProcessStat stat, process_stat(pid));
    roots_.insert(stat.id);
    // Its session is only ours to follow if it began one itself.
    if (stat.session != pid) {
        foreign_sessions_.insert(stat.session);
        return {};
    }
    leaders_->push_back({name_, stat.id});
    return {};
}

void TrackerContainer::take_over_leaders() {
    std::erase_if(*leaders_, [](const KnownLeader& leader) {
        return !still_there(leader.id.pid, leader.id.start_time);
    });
    for (const KnownLeader& leader : *leaders_) {
        if (!is_inside(leader.container, name_)) continue;
        sessions_.try_emplace(leader.id.pid, leader.id.start_time);
        groups_.try_emplace(leader.id.pid, leader.id.start_time);
    }
}

bool TrackerContainer::is_seed(const ProcessStat& process) const {
    if (roots_.contains(process.id)) return true;
    if (reaper_ > 0 && process.parent == reaper_) return true;
    return is_inside(marker_of(process.id.pid), marker_);
}

bool TrackerContainer::in_known_session(const ProcessStat& process,
                                        const std::map<pid_t, ProcessId>& by_pid) const {
    const auto session = sessions_.find(process.session);
    if (session == sessions_.end()) return false;
    // A leader with another start time is a later session under a number that was free again.
    const auto leader = by_pid.find(process.session);
    return leader == by_pid.end() || leader->second.start_time == session->second;
}

void TrackerContainer::forget_ended(const std::vector<ProcessStat>& found) {
    const auto gone = [](const auto& entry) { return !still_there(entry.first, entry.second); };
    std::erase_if(groups_, gone);
    std::erase_if(sessions_, [&](const auto& entry) {
        const bool seen = std::any_of(found.begin(), found.end(), [&](const ProcessStat& process) {
            return process.session == entry.first;
        });
        return !seen && gone(entry);
    });
}

void TrackerContainer::remember_sessions(const std::vector<ProcessStat>& found,
                                         const std::map<pid_t, ProcessId>& by_pid) {
    forget_ended(found);
    std::set<pid_t> inside;
    for (const ProcessStat& process : found)
        inside.insert(process.id.pid);
    const auto start_of = [&](pid_t pid) {
        const auto at = by_pid.find(pid);
        return at == by_pid.end() ? std::uint64_t{0} : at->second.start_time;
    };
    const pid_t own = ::getsid(0);
    for (const ProcessStat& process : found) {
        const pid_t session = process.session;
        const bool leader_outside =
            by_pid.contains(session) && !inside.contains(session) && !sessions_.contains(session);
        if (session <= 0 || session == own || foreign_sessions_.contains(session)) continue;
        if (leader_outside) continue;
        sessions_.try_emplace(session, start_of(session));
        groups_.try_emplace(process.group, start_of(process.group));
    }
}

std::vector<ProcessStat> TrackerContainer::members() {
    take_over_leaders();
    const std::vector<ProcessStat> all = all_processes();
    std::map<pid_t, ProcessId> by_pid;
    std::multimap<pid_t, const ProcessStat*> children;
    for (const ProcessStat& process : all) {
        by_pid[process.id.pid] = process.id;
        children.emplace(process.parent, &process);
    }
    std::set<pid_t> inside;
    std::vector<const ProcessStat*> open;
    const auto take = [&](const ProcessStat& process) {
        const pid_t pid = process.id.pid;
        if (pid == ::getpid() || pid == reaper_ || pid == 1 || pid == ::getppid()) return;
        if (inside.insert(pid).second) open.push_back(&process);
    };
    for (const ProcessStat& process : all) {
        if (is_seed(process) || in_known_session(process, by_pid)) take(process);
    }
    std::vector<ProcessStat> found;
    while (!open.empty()) {
        const ProcessStat* process = open.back();
        open.pop_back();
        found.push_back(*process);
        const auto [first, last] = children.equal_range(process->id.pid);
        for (auto child = first; child != last; ++child)
            take(*child->second);
    }
    // Dead ones tell of sessions and groups that live on; then they have done their part.
    remember_sessions(found, by_pid);
    std::erase_if(found, [](const ProcessStat& process) { return process.dead(); });
    std::sort(found.begin(), found.end(), [](const ProcessStat& a, const ProcessStat& b) {
        return a.id < b.id;
    });
    return found;
}

std::vector<ProcessId> TrackerContainer::pids() {
    std::vector<ProcessId> ids;
    for (const ProcessStat& process : members())
        ids.push_back(process.id);
    return ids;
}

Status TrackerContainer::signal_all(int signal) {
    for (const ProcessId& id : pids()) {
        const Status sent = send_signal(id, signal);
        if (!sent && sent.error().code() != ErrorCode::NotFound) return sent;
    }
    return {};
}

bool TrackerContainer::all_stopped() {
    const std::vector<ProcessStat> now = members();
    return std::all_of(now.begin(), now.end(), [](const ProcessStat& process) {
        return process.state == 'T' || process.state == 't';
    });
}

void TrackerContainer::signal_firmly(const std::vector<ProcessStat>& found, int signal) {
    for (const ProcessStat& process : found) {
        [[maybe_unused]] const Status sent = send_signal(process.id, signal);
    }
    for (const auto& [group, start_time] : groups_) {
        if (!still_there(group, start_time)) continue;
        [[maybe_unused]] const Status sent = send_signal_to_group(group, signal);
    }
}

bool TrackerContainer::none_left(int looks_max) {
    for (int look = 0; look < looks_max; ++look) {
        const std::string before = last_pid();
        if (!pids().empty()) return false;
        // No fork on the whole host while we looked: then nobody can have slipped through. On a
        // busy host this may never be so, and several looks must do.
        if (last_pid() == before) return true;
    }
    return true;
}

Status TrackerContainer::freeze() {
    // Until a look finds nobody new: what runs may fork while we look, what is stopped may not.
    std::set<ProcessId> stopped;
    for (int round = 0; round < kStopRoundsMax; ++round) {
        const std::vector<ProcessStat> found = members();
        const bool fresh = std::any_of(found.begin(), found.end(), [&](const ProcessStat& process) {
            return stopped.insert(process.id).second;
        });
        for (const ProcessStat& process : found)
            stopped.insert(process.id);
        // The first round always signals: a look may have missed a group that never stands still.
        if (!fresh && round > 0) {
            retry_until(Millis(500), [this] { return all_stopped(); });
            return {};
        }
        signal_firmly(found, SIGSTOP);
    }
    return fail(ErrorCode::Unavailable, name_ + ": forks faster than it can be stopped");
}

Status TrackerContainer::thaw() {
    return signal_all(SIGCONT);
}

Status TrackerContainer::kill_all(Millis patience) {
    // Where somebody had to be killed, one who forks on and on is missed by most single looks.
    constexpr int kLooksQuiet = 10;
    constexpr int kLooksHunted = 60;
    int looks = kLooksQuiet;
    const auto empty = [&] {
        if (groups_.empty() && none_left(looks)) return true;
        [[maybe_unused]] const Status frozen = freeze();
        const std::vector<ProcessStat> found = members();
        if (!found.empty()) looks = kLooksHunted;
        signal_firmly(found, SIGKILL);
        return none_left(looks);
    };
    if (retry_until(patience, empty)) return {};
    return fail(ErrorCode::Unavailable, name_ + ": still running: " + list_pids(pids()));
}

ContainerUsage TrackerContainer::usage() {
    const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto time_of = [&](std::uint64_t ticks) {
        return std::chrono::nanoseconds(ticks * (1000000000U / ticks_per_second));
    };
    ContainerUsage usage;
    for (const ProcessStat& process : members()) {
        ++usage.processes;
        usage.cpu_user += time_of(process.user_ticks);
        usage.cpu_system += time_of(process.system_ticks);
        usage.memory_bytes += process.rss_bytes;
    }
    usage.cpu = usage.cpu_user + usage.cpu_system;
    memory_peak_bytes_ = std::max(memory_peak_bytes_, usage.memory_bytes);
    usage.memory_peak_bytes = memory_peak_bytes_;
    return usage;
}

Status TrackerContainer::remove(Millis) {
    const std::vector<ProcessId> left = pids();
    if (left.empty()) return {};
    return fail(ErrorCode::Unavailable, name_ + ": still running: " + list_pids(left));
}

class TrackerFactory final : public ContainerFactory {
  public:
    TrackerFactory(std::string base, const std::string& reason)
        : base_(std::move(base)), text_("process groups and sub-reaper (" + reason + ")") {}

    const std::string& describe() const override { return text_; }
    bool limits_cpus() const override { return false; }
    bool limits_memory() const override { return false; }
    bool limits_devices() const override { return false; }

    Result<std::unique_ptr<ProcessContainer>> create(std::string_view name, pid_t reaper) override {
        TRY_STATUS(check_container_name(name));
        return std::make_unique<TrackerContainer>(base_, std::string(name), reaper, leaders_);
    }

    std::vector<std::string> existing() override {
        std::set<std::string> names;
        for (const ProcessStat& process : all_processes()) {
            const std::string value = marker_of(process.id.pid);
            if (process.dead() || process.id.pid == ::getpid() || !is_inside(value, base_))
                continue;
            if (value.size() <= base_.size() + 1) continue;
            const std::string name = value.substr(base_.size() + 1);
            names.insert(name.substr(0, name.find('/')));
        }
        return {names.begin(), names.end()};
    }

    Status remove_base() override { return {}; }

  private:
    std::string base_;
    std::string text_;
    std::shared_ptr<KnownLeaders> leaders_ = std::make_shared<KnownLeaders>();
};

}  // namespace

std::unique_ptr<ContainerFactory> make_tracker_factory(std::string base,
                                                       const std::string& reason) {
    return std::make_unique<TrackerFactory>(std::move(base), reason);
}

}  // namespace twinyard::os
