#include "rpc/address.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace twinyard::rpc {
namespace {

constexpr int kBacklog = 1024;

Error system_error(ErrorCode code, const std::string& what) {
    return {code, what + ": " + std::strerror(errno)};
}

/// A socket name that fits sockaddr_un. A path too long for it goes through a descriptor of its
/// folder.
struct SocketName {
    sockaddr_un address{};
    UniqueFd folder;  // Must stay open while the name is used.

    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&address);
    }
};

Result<SocketName> socket_name(const std::string& path) {
    SocketName name;
    name.address.sun_family = AF_UNIX;
    std::string text = path;
    if (path.size() >= sizeof(name.address.sun_path)) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos)
            return fail(ErrorCode::InvalidArgument, path + ": name too long");
        name.folder =
            UniqueFd(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!name.folder) {
            const bool may_come = errno == ENOENT;
            return fail(
                system_error(may_come ? ErrorCode::Unavailable : ErrorCode::InvalidArgument, path));
        }
        text = "/proc/self/fd/" + std::to_string(name.folder.get()) + path.substr(slash);
    }
    if (text.empty() || text.size() >= sizeof(name.address.sun_path) ||
        text.find('\0') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument, "'" + path + "' cannot name a unix socket");
    }
    std::memcpy(name.address.sun_path, text.c_str(), text.size() + 1);
    return name;
}

Result<UniqueFd> new_socket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail(system_error(ErrorCode::Unavailable, "socket"));
    return fd;
}

/// After EADDRINUSE: makes the name free, unless it is in use or not ours to remove.
Status remove_stale(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return {};
    if (!S_ISSOCK(info.st_mode))
        return fail(ErrorCode::Conflict, path + " exists and is no socket");
    const Result<UniqueFd> probe = connect_unix(path);
    // EAGAIN (backlog full) shows as Unavailable too, so only a refused connection proves that
    // nobody listens.
    if (probe || errno != ECONNREFUSED) return fail(ErrorCode::Conflict, path + " is in use");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(system_error(ErrorCode::Denied, "remove stale " + path));
    }
    return {};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
    constexpr std::string_view kUnix = "unix:";
    if (text.starts_with("tls:")) {
        return fail(ErrorCode::InvalidArgument,
                    std::string(text) + ": TLS addresses are not built yet");
    }
    const std::string_view path = text.starts_with(kUnix) ? text.substr(kUnix.size()) : text;
    if (!path.starts_with('/') || path.ends_with('/')) {
        return fail(ErrorCode::InvalidArgument,
                    "'" + std::string(text) + "' is not unix:/absolute/path");
    }
    return Address{.unix_path = std::string(path)};
}

std::string to_string(const Address& address) {
    return "unix:" + address.unix_path;
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

int UniqueFd::release() {
    return std::exchange(fd_, -1);
}

void UniqueFd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

Result<UniqueFd> listen_unix(const std::string& path, mode_t mode) {
    TRY(const SocketName name, socket_name(path));
    TRY(UniqueFd fd, new_socket());
    if (::bind(fd.get(), name.get(), sizeof(name.address)) != 0) {
        if (errno != EADDRINUSE) return fail(system_error(ErrorCode::Unavailable, "bind " + path));
        TRY_STATUS(remove_stale(path));
        if (::bind(fd.get(), name.get(), sizeof(name.address)) != 0) {
            return fail(system_error(ErrorCode::Conflict, "bind " + path));
        }
    }
    // Before listen(): nobody gets in while the mode is still the umask's.
    if (::chmod(path.c_str(), mode) != 0 || ::listen(fd.get(), kBacklog) != 0) {
        Error error = system_error(ErrorCode::Unavailable, "listen on " + path);
        ::unlink(path.c_str());
        return fail(std::move(error));
    }
    return fd;
}

Result<UniqueFd> connect_unix(const std::string& path) {
    TRY(const SocketName name, socket_name(path));
    TRY(UniqueFd fd, new_socket());
    int result = -1;
    do {
        result = ::connect(fd.get(), name.get(), sizeof(name.address));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return fd;
    const int cause = errno;
    const bool denied = cause == EACCES || cause == EPERM;
    Error error =
        system_error(denied ? ErrorCode::Denied : ErrorCode::Unavailable, "connect to " + path);
    fd.reset();
    errno = cause;
    return fail(std::move(error));
}

Result<PeerCredentials> peer_credentials(int fd) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return fail(system_error(ErrorCode::Denied, "peer credentials"));
    }
    return PeerCredentials{.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
}

}  // namespace twinyard::rpc
