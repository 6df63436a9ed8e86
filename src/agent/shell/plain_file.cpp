#include "agent/shell/plain_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.h"
#include "os/files.h"

namespace twinyard::agent {

Status write_plain_file(const std::string& path, std::string_view content) {
    // Never into a file that something else still has open or linked.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(os::system_error(errno, path));
    const os::Fd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return fail(os::system_error(errno, path));
    return os::write_all(file.get(), content);
}

}  // namespace twinyard::agent
