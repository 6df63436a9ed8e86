#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "rpc/frame.h"

namespace twinyard::rpc {

class Loop;

/// Who sent a request.
struct Peer {
    std::uint32_t uid = 65534;
    std::uint32_t gid = 65534;
    std::int32_t pid = 0;
    /// Of this server, never reused: tells two connections of one process apart.
    std::uint64_t connection = 0;
    std::uint16_t version = 0;
    std::string software;
};

/// What became of a part of a streamed reply.
enum class Flow : std::uint8_t {
    Open,    ///< Sent or queued; go on.
    Paused,  ///< Queued, but the reader is slow: wait for on_writable() before sending more.
    Closed,  ///< Dropped: the request was cancelled, or its connection is gone.
};

/// One request, held until it is answered: by reply(), finish() or fail(), whichever comes first;
/// later ones are ignored. Dropping it unanswered fails it with Unavailable. Methods: any thread,
/// one at a time, and after the server is gone too. Callbacks run on the server's loop thread.
class Call {
  public:
    struct State;

    explicit Call(std::shared_ptr<State> state);
    Call(Call&&) noexcept;
    Call& operator=(Call&&) noexcept;
    ~Call();

    [[nodiscard]] const Peer& peer() const;
    [[nodiscard]] std::uint16_t method() const;
    /// Not const: the handler may move the bytes out.
    [[nodiscard]] std::string& payload();
    /// True once the client cancelled, its deadline passed, or its connection ended.
    [[nodiscard]] bool cancelled() const;

    /// The whole answer, or the last part of a streamed one. Over kPayloadMax the client gets an
    /// error instead.
    void reply(std::string bytes);
    /// A part of the answer, more to come.
    Flow send_part(std::string bytes);
    /// Ends a streamed answer (an empty last part).
    void finish();
    void fail(Error error);

    /// `fn` runs once when cancelled() becomes true; at once if it already is. Not after
    /// the answer is given.
    void on_cancel(std::move_only_function<void()> fn);
    /// `fn` runs each time a Paused flow is open again.
    void on_writable(std::move_only_function<void()> fn);
    /// Parts that the client streams on this request; those that came before are delivered first.
    /// `last`: no more come.
    void on_part(std::move_only_function<void(std::string part, bool last)> fn);

  private:
    std::shared_ptr<State>
        state_;  // Shared with the connection, which routes cancels and parts to it.
};

/// Runs on the server's loop thread: answer quickly or hand the Call to another thread.
using Handler = std::function<void(Call)>;

struct ServerOptions {
    std::size_t connections_max = 4096;
    /// Of one user, root excepted: nobody locks the others out.
    std::size_t connections_per_user_max = 2048;
    /// Open requests on one connection; told to clients, which queue beyond it. One too many is
    /// refused.
    std::uint16_t requests_max = 16;
    /// Unsent bytes on one connection from which on send_part() says Paused, and no more requests
    /// are read.
    std::size_t write_buffer_pause = std::size_t{1} << 20;
    /// Unsent bytes at which the connection is cut: somebody did not heed Paused.
    std::size_t write_buffer_max = std::size_t{64} << 20;
    /// A client that takes no byte for so long while some wait is cut; 0: never.
    Millis write_stall_max{60'000};
    /// Connections that did not greet by then are closed.
    Millis hello_timeout{10'000};
    /// Half-received frames of all connections together, checked now and then; the largest are cut.
    std::size_t input_bytes_max = std::size_t{256} << 20;
    unsigned socket_mode = 0666;
    std::uint16_t version_min = kProtocolVersion;
    std::uint16_t version_max = kProtocolVersion;
    std::string software = "twinyard";
};

/// Listens on an address and hands every request to the handler. A half-open, slow or hostile
/// client never delays others. Threads: with a loop of its own any thread may call stop() or
/// destroy it (never from inside a callback); on a shared loop only that loop's thread, or any
/// while the loop is not running. Calls still open are cancelled inside stop(), on its caller's
/// thread; no callback runs after it returned. Not to be destroyed inside its own handler.
class Server {
  public:
    /// On a thread of its own. Conflict: somebody listens there already.
    [[nodiscard]] static Result<Server> listen(std::string_view address,
                                               ServerOptions options,
                                               Handler handler);
    /// On the caller's loop, which must outlive the server.
    [[nodiscard]] static Result<Server> listen(Loop& loop,
                                               std::string_view address,
                                               ServerOptions options,
                                               Handler handler);
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    ~Server();

    /// Closes all connections and removes the socket file. Idempotent.
    void stop();
    /// Any thread.
    [[nodiscard]] std::size_t connections() const;

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::rpc
