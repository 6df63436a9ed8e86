#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "os/cpu_list.h"
#include "os/files.h"
#include "os/linux/containers.h"

namespace twinyard::os {

namespace {

constexpr int kDepthMax = 16;

/// The pids in a group and all below it, as the kernel lists them.
void collect_pids(const std::string& group, int depth, std::vector<pid_t>& pids) {
    std::istringstream numbers(read_file(group + "/cgroup.procs").value_or(std::string()));
    for (pid_t pid = 0; numbers >> pid;)
        pids.push_back(pid);
    if (depth >= kDepthMax) return;
    for (const std::string& child : child_folders(group)) {
        collect_pids(group + '/' + child, depth + 1, pids);
    }
}

std::uint64_t sum_value(const std::string& group, const char* file, const char* key, int depth) {
    std::uint64_t sum = cgroup_value(group + file, key);
    if (depth >= kDepthMax) return sum;
    for (const std::string& child : child_folders(group)) {
        sum += sum_value(group + '/' + child, file, key, depth + 1);
    }
    return sum;
}

/// Removes a group and all below it; true when it is gone.
bool remove_group(const std::string& group, int depth) {
    if (::rmdir(group.c_str()) == 0 || errno == ENOENT) return true;
    if (depth < kDepthMax) {
        for (const std::string& child : child_folders(group)) {
            remove_group(group + '/' + child, depth + 1);
        }
    }
    return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

class CgroupContainer final : public ProcessContainer {
  public:
    CgroupContainer(const CgroupTree& tree, std::string name)
        : tree_(tree), name_(std::move(name)) {}

    [[nodiscard]] Status make();

    const std::string& name() const override { return name_; }
    Result<ContainerEntry> entry() override;
    Status add_pid(pid_t pid) override;
    std::vector<ProcessId> pids() override;
    Status signal_all(int signal) override;
    Status freeze() override;
    Status thaw() override;
    Status kill_all(Millis patience) override;
    Status set_cpuset(std::span<const int> cpus) override;
    Status set_memory_limit(std::uint64_t bytes) override;
    Status deny_device(unsigned major_number, unsigned minor_number) override;
    ContainerUsage usage() override;
    std::uint64_t oom_kills() override;
    Status remove(Millis patience) override;

  private:
    [[nodiscard]] std::string group_in(const CgroupHierarchy& hierarchy) const {
        return hierarchy.base + '/' + name_;
    }
    [[nodiscard]] Result<std::string> group_with(std::string_view controller, int version) const;
    /// The group that processes are put in, made if need be.
    [[nodiscard]] Result<std::string> leaf_in(const CgroupHierarchy& hierarchy) const;
    [[nodiscard]] Status set_frozen(bool frozen);
    [[nodiscard]] bool none_left();
    void kill_once();
    void add_cpu_usage(ContainerUsage& usage) const;
    void add_memory_usage(ContainerUsage& usage) const;

    CgroupTree tree_;
    std::string name_;
};

Status CgroupContainer::make() {
    for (const CgroupHierarchy& hierarchy : tree_.hierarchies) {
        // Another node of this host may have been stopped just now and have taken the base with it.
        TRY_STATUS(make_group(hierarchy, hierarchy.base));
        for (std::size_t end = name_.find('/');; end = name_.find('/', end + 1)) {
            const std::string group = hierarchy.base + '/' + name_.substr(0, end);
            TRY_STATUS(make_group(hierarchy, group));
            if (end == std::string::npos) break;
            for (const std::string& controller : hierarchy.controllers) {
                if (hierarchy.version != 2) break;
                // Refused only where somebody put processes in by hand: then the inner group has no
                // limits.
                [[maybe_unused]] const Status done =
                    write_cgroup_file(group + "/cgroup.subtree_control", "+" + controller);
            }
        }
    }
    return {};
}

Result<std::string> CgroupContainer::group_with(std::string_view controller, int version) const {
    const CgroupHierarchy* hierarchy = tree_.with(controller);
    if (hierarchy != nullptr && hierarchy->version == version) return group_in(*hierarchy);
    return fail(ErrorCode::Unavailable, "no cgroup controller '" + std::string(controller) + "'");
}

Result<std::string> CgroupContainer::leaf_in(const CgroupHierarchy& hierarchy) const {
    if (hierarchy.version == 1) return group_in(hierarchy);
    std::string leaf = group_in(hierarchy) + '/' + std::string(kLeafGroup);
    TRY_STATUS(make_group(hierarchy, leaf));
    return leaf;
}

Result<ContainerEntry> CgroupContainer::entry() {
    ContainerEntry entry;
    for (const CgroupHierarchy& hierarchy : tree_.hierarchies) {
        TRY(const std::string leaf, leaf_in(hierarchy));
        const std::string path = leaf + "/cgroup.procs";
        Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!file) return fail(system_error(errno, path));
        entry.procs_files.push_back(std::move(file));
    }
    return entry;
}

Status CgroupContainer::add_pid(pid_t pid) {
    for (const CgroupHierarchy& hierarchy : tree_.hierarchies) {
        TRY(const std::string leaf, leaf_in(hierarchy));
        TRY_STATUS(write_cgroup_file(leaf + "/cgroup.procs", std::to_string(pid)));
    }
    return {};
}

std::vector<ProcessId> CgroupContainer::pids() {
    std::vector<pid_t> raw;
    collect_pids(group_in(tree_.tracking()), 0, raw);
    std::vector<ProcessId> ids;
    for (const pid_t pid : raw) {
        if (pid == ::getpid()) continue;
        const Result<ProcessStat> stat = process_stat(pid);
        if (stat && !stat->dead()) ids.push_back(stat->id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

Status CgroupContainer::signal_all(int signal) {
    for (const ProcessId& id : pids()) {
        const Status sent = send_signal(id, signal);
        if (!sent && sent.error().code() != ErrorCode::NotFound) return sent;
    }
    return {};
}

Status CgroupContainer::set_frozen(bool frozen) {
    const CgroupHierarchy& tracking = tree_.tracking();
    if (tracking.version == 2) {
        const std::string group = group_in(tracking);
        TRY_STATUS(write_cgroup_file(group + "/cgroup.freeze", frozen ? "1" : "0"));
        const auto settled = [&] {
            return cgroup_value(group + "/cgroup.events", "frozen") == (frozen ? 1U : 0U);
        };
        retry_until(Millis(500), settled);
        return {};
    }
    TRY(const std::string group, group_with("freezer", 1));
    const std::string file = group + "/freezer.state";
    const std::string wanted = frozen ? "FROZEN" : "THAWED";
    TRY_STATUS(write_cgroup_file(file, wanted));
    // FREEZING stays as long as a process is stuck in the kernel; then what could be frozen is.
    retry_until(Millis(500),
                [&] { return read_file(file, 64).value_or(std::string()).starts_with(wanted); });
    return {};
}

Status CgroupContainer::freeze() {
    return set_frozen(true);
}

Status CgroupContainer::thaw() {
    return set_frozen(false);
}

void CgroupContainer::kill_once() {
    const CgroupHierarchy& tracking = tree_.tracking();
    if (tracking.version == 2) {
        // Kills whole and at once, forks under way included. Kernels before 5.14 lack it: go on by
        // hand.
        if (write_cgroup_file(group_in(tracking) + "/cgroup.kill", "1")) return;
    }
    // Frozen processes cannot fork away from us; they die when thawed. Without a freezer the
    // caller's rounds must do.
    [[maybe_unused]] const Status frozen = freeze();
    for (const ProcessId& id : pids()) {
        [[maybe_unused]] const Status sent = send_signal(id, SIGKILL);
    }
    [[maybe_unused]] const Status thawed = thaw();
}

/// Asks the kernel, not pids(): a process that forks on and on is listed, but gone when it is
/// looked at.
bool CgroupContainer::none_left() {
    const CgroupHierarchy& tracking = tree_.tracking();
    const std::string group = group_in(tracking);
    if (tracking.version == 2) return cgroup_value(group + "/cgroup.events", "populated") == 0;
    std::vector<pid_t> raw;
    collect_pids(group, 0, raw);
    return std::all_of(raw.begin(), raw.end(), [](pid_t pid) {
        const Result<ProcessStat> stat = process_stat(pid);
        return pid == ::getpid() || (stat && stat->dead());
    });
}

Status CgroupContainer::kill_all(Millis patience) {
    const auto empty = [this] {
        if (none_left()) return true;
        kill_once();
        return none_left();
    };
    if (retry_until(patience, empty)) return {};
    return fail(ErrorCode::Unavailable, name_ + ": still running: " + list_pids(pids()));
}

Status CgroupContainer::set_cpuset(std::span<const int> cpus) {
    const CgroupHierarchy* hierarchy = tree_.with("cpuset");
    if (hierarchy == nullptr) return fail(ErrorCode::Unavailable, "no cgroup controller 'cpuset'");
    return write_cgroup_file(group_in(*hierarchy) + "/cpuset.cpus", format_cpu_list(cpus));
}

Status CgroupContainer::set_memory_limit(std::uint64_t bytes) {
    const std::string value = std::to_string(bytes);
    if (const Result<std::string> group = group_with("memory", 2)) {
        TRY_STATUS(write_cgroup_file(*group + "/memory.max", value));
        // No swap instead of memory; kernels without swap accounting lack the file.
        [[maybe_unused]] const Status swap = write_cgroup_file(*group + "/memory.swap.max", "0");
        return {};
    }
    TRY(const std::string group, group_with("memory", 1));
    const std::string memory = group + "/memory.limit_in_bytes";
    const std::string both = group + "/memory.memsw.limit_in_bytes";
    // memory + swap may never be below memory: raising goes the one way, lowering the other.
    if (const Status set = write_cgroup_file(memory, value); !set) {
        TRY_STATUS(write_cgroup_file(both, value));
        return write_cgroup_file(memory, value);
    }
    if (::access(both.c_str(), F_OK) != 0) return {};
    return write_cgroup_file(both, value);
}

Status CgroupContainer::deny_device(unsigned major_number, unsigned minor_number) {
    TRY(const std::string group, group_with("devices", 1));
    return write_cgroup_file(
        group + "/devices.deny",
        "c " + std::to_string(major_number) + ':' + std::to_string(minor_number) + " rwm");
}

void CgroupContainer::add_cpu_usage(ContainerUsage& usage) const {
    using std::chrono::microseconds;
    using std::chrono::nanoseconds;
    const CgroupHierarchy& tracking = tree_.tracking();
    if (tracking.version == 2) {
        const std::string file = group_in(tracking) + "/cpu.stat";
        usage.cpu = microseconds(cgroup_value(file, "usage_usec"));
        usage.cpu_user = microseconds(cgroup_value(file, "user_usec"));
        usage.cpu_system = microseconds(cgroup_value(file, "system_usec"));
        usage.complete = true;
    } else if (const Result<std::string> group = group_with("cpuacct", 1)) {
        usage.cpu = nanoseconds(cgroup_number(*group + "/cpuacct.usage"));
        usage.cpu_user = nanoseconds(cgroup_number(*group + "/cpuacct.usage_user"));
        usage.cpu_system = nanoseconds(cgroup_number(*group + "/cpuacct.usage_sys"));
        usage.complete = true;
    }
}

void CgroupContainer::add_memory_usage(ContainerUsage& usage) const {
    if (const Result<std::string> group = group_with("memory", 2)) {
        usage.memory_bytes = cgroup_value(*group + "/memory.stat", "anon");
        usage.memory_peak_bytes = cgroup_number(*group + "/memory.peak");
    } else if (const Result<std::string> old = group_with("memory", 1)) {
        usage.memory_bytes = cgroup_value(*old + "/memory.stat", "total_rss");
        usage.memory_peak_bytes = cgroup_number(*old + "/memory.max_usage_in_bytes");
    }
}

ContainerUsage CgroupContainer::usage() {
    ContainerUsage usage;
    usage.processes = static_cast<int>(pids().size());
    add_cpu_usage(usage);
    add_memory_usage(usage);
    return usage;
}

std::uint64_t CgroupContainer::oom_kills() {
    if (const Result<std::string> group = group_with("memory", 2)) {
        return cgroup_value(*group + "/memory.events", "oom_kill");
    }
    const Result<std::string> group = group_with("memory", 1);
    return group ? sum_value(*group, "/memory.oom_control", "oom_kill", 0) : 0;
}

Status CgroupContainer::remove(Millis patience) {
    const auto gone = [this] {
        bool all = true;
        for (const CgroupHierarchy& hierarchy : tree_.hierarchies) {
            all &= remove_group(group_in(hierarchy), 0);
        }
        return all;
    };
    if (retry_until(patience, gone)) return {};
    return fail(ErrorCode::Unavailable, "cgroup " + name_ + " is still in use");
}

class CgroupFactory final : public ContainerFactory {
  public:
    explicit CgroupFactory(CgroupTree tree) : tree_(std::move(tree)), text_(tree_.describe()) {}

    const std::string& describe() const override { return text_; }
    bool limits_cpus() const override { return tree_.with("cpuset") != nullptr; }
    bool limits_memory() const override { return tree_.with("memory") != nullptr; }
    bool limits_devices() const override { return tree_.with("devices") != nullptr; }

    Result<std::unique_ptr<ProcessContainer>> create(std::string_view name, pid_t) override {
        TRY_STATUS(check_container_name(name));
        auto container = std::make_unique<CgroupContainer>(tree_, std::string(name));
        TRY_STATUS(container->make());
        return container;
    }

    std::vector<std::string> existing() override { return child_folders(tree_.tracking().base); }

    Status remove_base() override {
        for (const CgroupHierarchy& hierarchy : tree_.hierarchies) {
            if (::rmdir(hierarchy.base.c_str()) != 0 && errno != ENOENT) {
                return fail(system_error(errno, "rmdir " + hierarchy.base));
            }
        }
        return {};
    }

  private:
    CgroupTree tree_;
    std::string text_;
};

}  // namespace

std::unique_ptr<ContainerFactory> make_cgroup_factory(CgroupTree tree) {
    return std::make_unique<CgroupFactory>(std::move(tree));
}

}  // namespace twinyard::os
