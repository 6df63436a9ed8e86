#include "os/process_id.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>

#include "base/check.h"
#include "os/files.h"

namespace twinyard::os {

namespace {

/// The number that a folder of /proc has for a name; 0 for others.
pid_t pid_of_name(std::string_view name) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    return error == std::errc{} && end == name.data() + name.size() ? pid : 0;
}

}  // namespace

Result<ProcessStat> process_stat(pid_t pid) {
    TRY(const std::string text, read_file("/proc/" + std::to_string(pid) + "/stat"));
    const std::optional<ProcessStat> stat = parse_process_stat(text);
    if (!stat) return fail(ErrorCode::NotFound, "process " + std::to_string(pid) + ": no stat");
    return *stat;
}

Result<ProcessId> process_id(pid_t pid) {
    TRY(const ProcessStat stat, process_stat(pid));
    return stat.id;
}

ProcessId own_process_id() {
    const Result<ProcessId> own = process_id(::getpid());
    CHECK(own.has_value());
    return *own;
}

bool is_alive(const ProcessId& id) {
    if (id.pid <= 0) return false;
    const Result<ProcessStat> stat = process_stat(id.pid);
    return stat && stat->id == id && !stat->dead();
}

Status send_signal(const ProcessId& id, int signal) {
    const std::string what = "signal process " + std::to_string(id.pid);
    if (id.pid <= 1) return fail(ErrorCode::InvalidArgument, what);
    const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
    if (!handle) return fail(system_error(errno, what));
    // The start time is compared after the handle was opened: from here on it is this process or
    // none.
    const Result<ProcessStat> stat = process_stat(id.pid);
    if (!stat || stat->id != id) return fail(ErrorCode::NotFound, what + ": it is gone");
    if (::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) != 0) {
        return fail(system_error(errno, what));
    }
    return {};
}

Status send_signal_to_group(pid_t group, int signal) {
    const std::string what = "signal process group " + std::to_string(group);
    if (group <= 1) return fail(ErrorCode::InvalidArgument, what);
    if (::kill(-group, signal) != 0) return fail(system_error(errno, what));
    return {};
}

std::vector<ProcessStat> all_processes() {
    std::vector<ProcessStat> processes;
    DIR* folder = ::opendir("/proc");
    if (folder == nullptr) return processes;
    while (const dirent* entry = ::readdir(folder)) {
        const pid_t pid = pid_of_name(entry->d_name);
        if (pid <= 0) continue;
        if (const Result<ProcessStat> stat = process_stat(pid)) processes.push_back(*stat);
    }
    ::closedir(folder);
    std::sort(processes.begin(), processes.end(), [](const ProcessStat& a, const ProcessStat& b) {
        return a.id < b.id;
    });
    return processes;
}

std::string boot_id() {
    Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
    if (!text) return {};
    while (!text->empty() && text->back() == '\n')
        text->pop_back();
    return *std::move(text);
}

Status write_pid_file(const std::string& path, const ProcessId& id) {
    return write_file_atomic(
        path,
        std::to_string(id.pid) + ' ' + std::to_string(id.start_time) + ' ' + boot_id() + '\n',
        0644);
}

Result<ProcessId> read_pid_file(const std::string& path) {
    constexpr std::size_t kPidFileBytesMax = 4096;
    TRY(const std::string text, read_file(path, kPidFileBytesMax));
    std::istringstream words(text);
    ProcessId id;
    std::string boot;
    if (!(words >> id.pid >> id.start_time) || id.pid <= 0) {
        return fail(ErrorCode::Corrupt, path + ": not a pid file");
    }
    words >> boot;
    if (boot != boot_id()) id.start_time = 0;
    return id;
}

Status become_subreaper() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail(system_error(errno, "sub-reaper"));
    return {};
}

}  // namespace twinyard::os
