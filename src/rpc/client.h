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

struct ClientOptions {
    /// After a lost or failed connection: try again for ever, with the delay doubling from min to
    /// max.
    bool reconnect = true;
    Millis reconnect_delay_min{50};
    Millis reconnect_delay_max{5'000};
    /// From connecting to the server's greeting.
    Millis connect_timeout{10'000};
    /// Silence after which a Ping is sent; after two such intervals without a byte the connection
    /// is given up. 0: never.
    Millis ping_interval{0};
    /// Calls that wait here for a connection or for a free slot at the server; one more fails at
    /// once.
    std::size_t calls_waiting_max = 4096;
    /// Unsent bytes at which calls and parts are refused.
    std::size_t write_buffer_max = std::size_t{64} << 20;
    std::uint16_t version_min = kProtocolVersion;
    std::uint16_t version_max = kProtocolVersion;
    std::string software = "twinyard";
};

/// Both run on the client's loop thread; either may be empty.
struct ClientCallbacks {
    /// Each time a connection is up and greeted; `version` is the one agreed on.
    std::function<void(std::uint16_t version)> on_connected;
    /// Each time an established connection was lost, and for each attempt that failed (told apart
    /// by `was_connected`).
    std::function<void(const Error& error, bool was_connected)> on_disconnected;
};

/// Names a call or stream of one Client, for cancel() and send_part(). Never reused.
using CallId = std::uint64_t;

using OnReply = std::move_only_function<void(Result<std::string> reply)>;
using OnPart = std::move_only_function<void(std::string part)>;
/// The stream is over: finished by the server, or the error that ended it.
using OnEnd = std::move_only_function<void(Status end)>;

/// What to open as a stream. Parts may flow both ways on it.
struct StreamRequest {
    std::uint16_t method = 0;
    std::string payload;
    /// For the whole stream; 0: none.
    Millis deadline{0};
    /// The client will send parts and end them with `last`.
    bool sends_parts = false;
};

/// A connection to one server that mends itself; many calls at a time. For daemons.
/// Threads: methods from any thread, callbacks on the loop's thread. stop() and destruction: with a
/// loop of its own from any thread but never inside a callback; on a shared loop only on that
/// loop's thread (callbacks may do it), or any while the loop is not running.
class Client {
  public:
    /// On a thread of its own. Fails only on a malformed address: connecting goes on in the
    /// background.
    [[nodiscard]] static Result<Client> connect(std::string_view address,
                                                ClientOptions options,
                                                ClientCallbacks callbacks);
    /// On the caller's loop, which must outlive the client. Callbacks never run inside connect().
    [[nodiscard]] static Result<Client> connect(Loop& loop,
                                                std::string_view address,
                                                ClientOptions options,
                                                ClientCallbacks callbacks);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    [[nodiscard]] bool connected() const;

    /// `on_reply` runs exactly once, never inside call(): the answer, the server's error,
    /// Unavailable when the connection was lost after sending (the request may or may not have been
    /// done) or `deadline` passed (0: none; the server is told). Without a connection the call
    /// waits for one until its deadline; without `reconnect` it fails.
    CallId call(std::uint16_t method, std::string payload, Millis deadline, OnReply on_reply);

    /// Parts come in order, then `on_end` exactly once, never inside this function. A lost
    /// connection ends the stream.
    CallId open_stream(StreamRequest request, OnPart on_part, OnEnd on_end);
    /// A part from client to server. Parts for a stream that is over are dropped.
    void send_part(CallId stream, std::string part, bool last = false);

    /// Its callbacks do not run any more (called on the loop's thread; from others one may be under
    /// way). The server is told.
    void cancel(CallId call);

    /// Ends the connection and fails all calls with Unavailable, before it returns. Idempotent.
    void stop();

  private:
    struct Impl;
    explicit Client(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::rpc
