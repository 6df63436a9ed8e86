#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "rpc/frame.h"

namespace twinyard::client {

/// What the server sent on a request opened by start().
struct Event {
    enum class Kind : std::uint8_t {
        Part,  ///< A part of the answer, more to come.
        End,   ///< The last part (often empty): the request is over.
        None,  ///< Only from a read that does not wait: nothing whole has come yet.
    };
    Kind kind = Kind::None;
    std::string payload;
};

enum class Wait : std::uint8_t { No, UntilEvent };

/// A blocking connection of a command to the controller, an agent or a step daemon; one request at
/// a time. Errors: open() gives Unavailable if nobody answered in time, Denied if the socket may
/// not be used. On a request, an error while lost() is false is the server's own refusal; with
/// lost() it is Unavailable: the connection broke and the request may or may not have been done.
/// One thread.
class Connection {
  public:
    /// Connects and greets; a failure that may pass (no socket file yet, nobody listening, too many
    /// clients) is tried again until `timeout` is over, as Slurm's commands do for MessageTimeout.
    /// At least one try is made.
    [[nodiscard]] static Result<Connection> open(const std::string& socket_path, Millis timeout);

    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();

    /// The version both sides agreed on.
    [[nodiscard]] std::uint16_t version() const;
    /// True once the connection broke; nothing more can be done with it.
    [[nodiscard]] bool lost() const;

    /// How long call(), call_streamed() and read_event() wait for the next frame; zero (the
    /// default): for ever. When it passes, the connection counts as lost.
    void set_reply_timeout(Millis timeout);

    /// Sends a request and waits for its whole answer (parts are joined; 512 MiB at most).
    [[nodiscard]] Result<std::string> call(std::uint16_t method, std::string_view payload);

    /// As call(), but each part goes to `on_part` as it comes (an empty last one does not).
    /// `on_part` returns false to cancel: the rest is dropped and the status is good.
    [[nodiscard]] Status call_streamed(std::uint16_t method,
                                       std::string_view payload,
                                       const std::function<bool(std::string part)>& on_part);

    /// Opens a request and returns at once. `sends_parts`: send_stream_part() will follow.
    [[nodiscard]] Status start(std::uint16_t method, std::string_view payload, bool sends_parts);
    /// A part for the open request; cut into frames where too large. Waits while the server is
    /// slow; what it sends meanwhile is kept for read_event().
    [[nodiscard]] Status send_stream_part(std::string_view part, bool last);
    /// The next event of the open request. After poll() on fd() call it with Wait::No until it
    /// gives None. The server's refusal comes as an error and ends the request, as End does.
    [[nodiscard]] Result<Event> read_event(Wait wait);
    /// Gives the open request up and tells the server. Late parts of it are dropped.
    [[nodiscard]] Status cancel();
    /// For poll(): readable when there may be an event. Data may also be held already: call
    /// read_event(Wait::No) first.
    [[nodiscard]] int fd() const;

  private:
    struct Impl;
    explicit Connection(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::client
