#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

/// Addresses of our wire and the unix sockets behind them. Plain POSIX: the commands' client links
/// this too.
namespace twinyard::rpc {

/// Where a server listens. Textual form: `unix:/absolute/path`, or the bare absolute path.
struct Address {
    std::string unix_path;
};

/// InvalidArgument: malformed, or a scheme that this build does not have (`tls:`).
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string to_string(const Address& address);

/// Closes on destruction. Movable, -1 when empty.
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    int release();
    void reset();

  private:
    int fd_ = -1;
};

/// Starts listening (non-blocking, close-on-exec, file mode `mode`). Paths longer than sockaddr_un
/// holds work too. A socket file that nobody listens on is replaced. Conflict: somebody listens
/// there, or it is no socket.
[[nodiscard]] Result<UniqueFd> listen_unix(const std::string& path, mode_t mode);

/// Connects without waiting (the socket is non-blocking, close-on-exec). Unavailable: nobody there
/// now, a retry may help; Denied: not permitted; InvalidArgument: no such path can exist.
[[nodiscard]] Result<UniqueFd> connect_unix(const std::string& path);

/// Who is at the other end of a connected unix socket, as the kernel saw them when they connected.
struct PeerCredentials {
    std::uint32_t uid = 65534;
    std::uint32_t gid = 65534;
    std::int32_t pid = 0;
};
[[nodiscard]] Result<PeerCredentials> peer_credentials(int fd);

}  // namespace twinyard::rpc
