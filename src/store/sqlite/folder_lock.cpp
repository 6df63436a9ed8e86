#include "store/sqlite/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace twinyard::store {
namespace {

std::string errno_text() {
    return std::generic_category().message(errno);
}

std::string holder_of(int fd) {
    std::array<char, 32> text{};
    const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
    if (size <= 0) return "another process";
    std::string pid(text.data(), static_cast<std::size_t>(size));
    while (!pid.empty() && pid.back() == '\n')
        pid.pop_back();
    return "process " + pid;
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::string& folder) {
    const std::string path = folder + "/lock";
    FolderLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.fd_ < 0) return fail(ErrorCode::Unavailable, path + ": " + errno_text());
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return fail(ErrorCode::Unavailable, path + ": " + errno_text());
        return fail(ErrorCode::Conflict, folder + " is in use by " + holder_of(lock.fd_));
    }
    // The pid is for people: the lock itself is the kernel's, so a full disk here is no error.
    const std::string pid = std::to_string(::getpid()) + "\n";
    [[maybe_unused]] const bool written =
        ::ftruncate(lock.fd_, 0) == 0 && ::pwrite(lock.fd_, pid.data(), pid.size(), 0) > 0;
    return lock;
}

FolderLock::~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace twinyard::store
