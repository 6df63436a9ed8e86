#include "os/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/files.h"
#include "os/linux/spawn_child.h"

namespace twinyard::os {

namespace {

// From here to enter_namespaces() everything is async-signal-safe: it runs between fork and exec.

int write_proc(const char* path, const char* text) {
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    const int number = ::write(fd, text, std::strlen(text)) < 0 ? errno : 0;
    ::close(fd);
    return number;
}

int keep_own_ids(const std::string& uid_map, const std::string& gid_map) {
    // The kernel wants setgroups given up before an ordinary user may map a gid.
    const int number = write_proc("/proc/self/setgroups", "deny");
    if (number != 0 && number != ENOENT) return number;
    if (const int gid_error = write_proc("/proc/self/gid_map", gid_map.c_str())) return gid_error;
    return write_proc("/proc/self/uid_map", uid_map.c_str());
}

/// Flags of the mount that must stay: in a user namespace they are locked.
unsigned long locked_flags(const char* path) {
    struct statfs info {};
    if (::statfs(path, &info) != 0) return 0;
    constexpr unsigned long kNoSuid = 2;
    constexpr unsigned long kNoDevice = 4;
    constexpr unsigned long kNoExec = 8;
    const auto flags = static_cast<unsigned long>(info.f_flags);
    unsigned long keep = 0;
    if ((flags & kNoSuid) != 0) keep |= MS_NOSUID;
    if ((flags & kNoDevice) != 0) keep |= MS_NODEV;
    if ((flags & kNoExec) != 0) keep |= MS_NOEXEC;
    return keep;
}

int bind(const char* source, const char* target, bool read_only) {
    if (::mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) != 0) return errno;
    if (!read_only) return 0;
    const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | locked_flags(target);
    return ::mount(nullptr, target, nullptr, flags, nullptr) != 0 ? errno : 0;
}

}  // namespace

int enter_namespaces(const NamespaceRequest& request,
                     const std::string& uid_map,
                     const std::string& gid_map) {
    const bool user_namespace = !uid_map.empty();
    const int flags = CLONE_NEWNS | CLONE_NEWUTS | (user_namespace ? CLONE_NEWUSER : 0);
    if (::unshare(flags) != 0) return errno;
    if (user_namespace) {
        if (const int number = keep_own_ids(uid_map, gid_map)) return number;
    }
    // Slave: mounts that the host makes later are seen, ours are not seen outside.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
    for (const BindMount& mount : request.mounts) {
        const int number = bind(mount.source.c_str(), mount.target.c_str(), mount.read_only);
        if (number != 0) return number;
    }
    if (!request.hosts_file.empty()) {
        if (const int number = bind(request.hosts_file.c_str(), "/etc/hosts", true)) return number;
    }
    if (request.hostname.empty()) return 0;
    return ::sethostname(request.hostname.data(), request.hostname.size()) != 0 ? errno : 0;
}

IdMaps own_id_maps() {
    if (::geteuid() == 0) return {};
    const std::string uid = std::to_string(::geteuid());
    const std::string gid = std::to_string(::getegid());
    return {uid + ' ' + uid + " 1", gid + ' ' + gid + " 1"};
}

NamespaceProbe probe_namespaces() {
    const IdMaps maps = own_id_maps();
    NamespaceRequest request;
    request.hostname = "probe";
    request.hosts_file = "/etc/hosts";
    const pid_t pid = ::_Fork();
    if (pid == 0) ::_exit(enter_namespaces(request, maps.uid_map, maps.gid_map));
    if (pid < 0) return {NamespaceMode::Impossible, system_error(errno, "fork").message()};
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return {NamespaceMode::Impossible, "probe lost"};
    }
    const int number = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    const bool root = maps.uid_map.empty();
    if (number == 0) return {root ? NamespaceMode::Privileged : NamespaceMode::UserNamespace, {}};
    const std::string_view what = root ? "mount namespace" : "user namespace";
    return {NamespaceMode::Impossible, system_error(number, what).message()};
}

Status write_hosts_file(const std::string& path, const std::vector<std::string>& names) {
    constexpr std::size_t kHostsBytesMax = std::size_t{4} << 20;
    const Result<std::string> system = read_file("/etc/hosts", kHostsBytesMax);
    return write_file_atomic(path, hosts_file_text(system.value_or(std::string()), names), 0644);
}

}  // namespace twinyard::os
