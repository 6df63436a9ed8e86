#include "os/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace twinyard::os {

namespace {

ErrorCode code_of(int number) {
    switch (number) {
        case ENOENT:
        case ENOTDIR:
        case ESRCH:
            return ErrorCode::NotFound;
        case EACCES:
        case EPERM:
        case EROFS:
            return ErrorCode::Denied;
        case EEXIST:
        case ENOTEMPTY:
        case EBUSY:
            return ErrorCode::Conflict;
        case EINVAL:
        case ENAMETOOLONG:
        case ELOOP:
            return ErrorCode::InvalidArgument;
        default:
            return ErrorCode::Unavailable;
    }
}

std::unexpected<Error> fail_errno(std::string_view what) {
    return fail(system_error(errno, what));
}

/// Acts as another user on this thread alone, by the raw calls: glibc's wrappers would change every
/// thread of the process. Going back must work, else we would go on with wrong rights.
class ActingAs {
  public:
    [[nodiscard]] static Result<ActingAs> begin(const Identity& who) {
        if (::geteuid() == who.uid && who.uid != 0) return ActingAs(false, {}, 0);
        if (::geteuid() != 0) {
            return fail(ErrorCode::Denied,
                        "not root: cannot act as uid " + std::to_string(who.uid));
        }
        ActingAs acting(true, own_identity().groups, ::getegid());
        const bool good =
            ::syscall(SYS_setgroups, who.groups.size(), who.groups.data()) == 0 &&
            ::syscall(SYS_setresgid, static_cast<gid_t>(-1), who.gid, static_cast<gid_t>(-1)) ==
                0 &&
            ::syscall(SYS_setresuid, static_cast<uid_t>(-1), who.uid, static_cast<uid_t>(-1)) == 0;
        if (!good) return fail_errno("become uid " + std::to_string(who.uid));
        return acting;
    }

    ActingAs(ActingAs&& other) noexcept
        : active_(std::exchange(other.active_, false)),
          groups_(std::move(other.groups_)),
          gid_(other.gid_) {}
    ActingAs& operator=(ActingAs&&) = delete;
    ~ActingAs() {
        if (!active_) return;
        CHECK(::syscall(SYS_setresuid, static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) == 0);
        CHECK(::syscall(SYS_setresgid, static_cast<gid_t>(-1), gid_, static_cast<gid_t>(-1)) == 0);
        CHECK(::syscall(SYS_setgroups, groups_.size(), groups_.data()) == 0);
    }

  private:
    ActingAs(bool active, std::vector<gid_t> groups, gid_t gid)
        : active_(active), groups_(std::move(groups)), gid_(gid) {}

    bool active_;
    std::vector<gid_t> groups_;
    gid_t gid_;
};

Status make_folders(const std::string& path, mode_t mode) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
            // A parent that we may not write to, or on a read-only disk, is fine as long as it is
            // there.
            const int number = errno;
            struct stat info {};
            if (::stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
                return fail(system_error(number, "mkdir " + part));
            }
        }
        if (end == std::string::npos) break;
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return fail_errno("stat " + path);
    if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::Conflict, path + " is not a folder");
    return {};
}

Status write_and_sync(const Fd& file, std::string_view content, const std::string& path) {
    if (Status written = write_all(file.get(), content); !written) {
        return fail(std::move(written).error().in(path));
    }
    if (::fsync(file.get()) != 0) return fail_errno("fsync " + path);
    return {};
}

Status remove_folder_content(int folder_fd, dev_t device, int depth);

Status remove_entry(int parent, const char* name, dev_t device, int depth) {
    if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return fail_errno(std::string("remove ") + name);
    const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return fail_errno(std::string("open ") + name);
    if (Status inner = remove_folder_content(fd, device, depth); !inner) {
        return fail(std::move(inner).error().in(name));
    }
    if (::unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return fail_errno(std::string("rmdir ") + name);
    }
    return {};
}

/// Takes over `folder_fd`.
Status remove_folder_content(int folder_fd, dev_t device, int depth) {
    constexpr int kDepthMax = 256;
    struct stat info {};
    if (::fstat(folder_fd, &info) != 0 || info.st_dev != device || depth > kDepthMax) {
        ::close(folder_fd);
        return fail(ErrorCode::Conflict, "another file system, or too deep");
    }
    DIR* folder = ::fdopendir(folder_fd);
    if (folder == nullptr) {
        ::close(folder_fd);
        return fail_errno("fdopendir");
    }
    Status result;
    while (const dirent* entry = ::readdir(folder)) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        result = remove_entry(::dirfd(folder), entry->d_name, device, depth + 1);
        if (!result) break;
    }
    ::closedir(folder);
    return result;
}

}  // namespace

Error system_error(int number, std::string_view what) {
    return Error(code_of(number), std::string(what) + ": " + strerrordesc_np(number));
}

std::string parent_folder(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno(path);
    std::string content;
    constexpr std::size_t kChunk = 16384;
    while (true) {
        const std::size_t old = content.size();
        content.resize(old + kChunk);
        const ssize_t count = ::read(file.get(), content.data() + old, kChunk);
        if (count < 0 && errno != EINTR) return fail_errno("read " + path);
        content.resize(old + static_cast<std::size_t>(count > 0 ? count : 0));
        if (count == 0) return content;
        if (content.size() > limit) {
            return fail(ErrorCode::InvalidArgument,
                        path + ": longer than " + std::to_string(limit));
        }
    }
}

Status write_all(int fd, std::string_view data) {
    while (!data.empty()) {
        const ssize_t count = ::write(fd, data.data(), data.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_errno("write");
        data.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Status sync_folder(const std::string& path) {
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return fail_errno(path);
    if (::fsync(folder.get()) != 0) return fail_errno("fsync " + path);
    return {};
}

Status write_file_atomic(const std::string& path, std::string_view content, mode_t mode) {
    std::string temporary = path + ".XXXXXX";
    const Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file) return fail_errno(temporary);
    Status written = ::fchmod(file.get(), mode) == 0 ? write_and_sync(file, content, path)
                                                     : Status(fail_errno("chmod " + temporary));
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
        written = fail_errno("rename to " + path);
    }
    if (!written) {
        ::unlink(temporary.c_str());
        return written;
    }
    return sync_folder(parent_folder(path));
}

Status make_private_folder(const std::string& path) {
    const std::string parent = parent_folder(path);
    if (parent != "." && parent != "/") TRY_STATUS(make_folders(parent, 0755));
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno("mkdir " + path);
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return fail_errno("stat " + path);
    if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::Conflict, path + " is not a folder");
    if (info.st_uid != ::geteuid()) {
        return fail(ErrorCode::Denied, path + " belongs to uid " + std::to_string(info.st_uid));
    }
    if ((info.st_mode & 0022) != 0) return fail(ErrorCode::Denied, path + " is writable by others");
    return {};
}

Status remove_tree(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) return {};
        return fail_errno(path);
    }
    if (Status removed = remove_entry(AT_FDCWD, path.c_str(), info.st_dev, 0); !removed) {
        return fail(std::move(removed).error().in("remove " + path));
    }
    return {};
}

Result<Fd> open_as_user(const Identity& who, const std::string& path, int flags, mode_t mode) {
    TRY(const ActingAs acting, ActingAs::begin(who));
    // A FIFO must not stop a daemon: O_NONBLOCK for the open alone.
    Fd file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode));
    if (!file) return fail_errno(path);
    if ((flags & O_NONBLOCK) == 0) {
        const int now = ::fcntl(file.get(), F_GETFL);
        if (now < 0 || ::fcntl(file.get(), F_SETFL, now & ~O_NONBLOCK) != 0)
            return fail_errno(path);
    }
    return file;
}

Status make_folders_as_user(const Identity& who, const std::string& path) {
    TRY(const ActingAs acting, ActingAs::begin(who));
    return make_folders(path, 0777);
}

Result<Pipe> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> lock_file(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return fail_errno(path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK) return fail_errno("lock " + path);
    return fail(ErrorCode::Conflict, path + " is locked by another process");
}

}  // namespace twinyard::os
