#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// The frame format of the wire between our own processes: pure functions over bytes, no socket and
/// no clock. A frame is a header of 16 bytes, little-endian {u32 payload length, u8 type, u8 flags,
/// u16 method, u64 request id}, then the payload, which only the layers above understand.
namespace twinyard::rpc {

inline constexpr std::size_t kFrameHeaderSize = 16;
/// No frame carries more; larger things go as a stream of parts. A larger length ends the
/// connection.
inline constexpr std::size_t kPayloadMax = std::size_t{8} << 20;
/// What a peer may send before its Hello was accepted.
inline constexpr std::size_t kHelloPayloadMax = 1024;
inline constexpr std::uint32_t kHelloMagic = 0x44595754;  // "TWYD" on the wire.
inline constexpr std::uint16_t kProtocolVersion = 1;

enum class FrameType : std::uint8_t {
    Hello = 1,  ///< First frame of each side.
    Request,    ///< Client to server: opens the request id.
    Reply,  ///< Server to client: a part of the answer; the one without kFlagMore ends the request.
    Error,  ///< Server to client: ends the request; with id 0 it ends the connection.
    StreamData,  ///< Client to server: a part on an open request; the one without kFlagMore is the
                 ///< last.
    Cancel,      ///< Client to server: the answer is no longer wanted.
    Ping,        ///< Either side; answered by Pong with the same id.
    Pong,
};

/// On Reply and StreamData: more parts follow. On Request: StreamData follows.
inline constexpr std::uint8_t kFlagMore = 1;

/// One frame. `method` matters in Request alone, `request_id` is 0 where a frame is about the
/// connection.
struct Frame {
    FrameType type = FrameType::Ping;
    std::uint8_t flags = 0;
    std::uint16_t method = 0;
    std::uint64_t request_id = 0;
    std::string payload;

    [[nodiscard]] bool more() const { return (flags & kFlagMore) != 0; }
    friend bool operator==(const Frame&, const Frame&) = default;
};

/// A frame's header alone, for writers whose payload lies elsewhere.
struct FrameHead {
    FrameType type = FrameType::Ping;
    std::uint8_t flags = 0;
    std::uint16_t method = 0;
    std::uint64_t request_id = 0;
};

/// Appends one frame to `out`. CHECKs that the payload is at most kPayloadMax: senders split or
/// refuse before.
void append_frame(std::string& out, const FrameHead& head, std::string_view payload);
[[nodiscard]] std::string encode_frame(const FrameHead& head, std::string_view payload);

/// The greeting. Both sides send their range; the version used is the highest that both know.
struct Hello {
    std::uint16_t version_min = kProtocolVersion;
    std::uint16_t version_max = kProtocolVersion;
    /// From a server: how many requests it takes open at a time on this connection. 0 from a
    /// client.
    std::uint16_t requests_max = 0;
    /// Name and release, for logs: at most 200 bytes are sent.
    std::string software;

    friend bool operator==(const Hello&, const Hello&) = default;
};

[[nodiscard]] std::string encode_hello(const Hello& hello);
/// Corrupt when it is not a greeting of ours. Bytes after the known fields are ignored (later
/// versions add fields).
[[nodiscard]] Result<Hello> decode_hello(std::string_view payload);
/// InvalidArgument when the ranges do not meet.
[[nodiscard]] Result<std::uint16_t> common_version(const Hello& ours, const Hello& theirs);

/// Payload of an Error frame: u16 code, message. A message over 64 KiB is cut.
[[nodiscard]] std::string encode_error(const Error& error);
/// Total: bytes that are no error, or a code this build does not know, come back as Corrupt with
/// what is readable.
[[nodiscard]] Error decode_error(std::string_view payload);

/// Turns a byte stream, cut anywhere, into frames. Holds no memory while no frame is half read.
/// One thread at a time.
class FrameDecoder {
  public:
    explicit FrameDecoder(std::size_t payload_max = kPayloadMax) : payload_max_(payload_max) {}

    void append(std::string_view bytes);

    /// The next whole frame; nullopt: more bytes are needed. InvalidArgument: the announced payload
    /// is over the limit; Corrupt: not a frame. After an error every call gives an error: the
    /// stream is lost.
    [[nodiscard]] Result<std::optional<Frame>> next();

    void set_payload_max(std::size_t payload_max) { payload_max_ = payload_max; }
    /// Bytes held that are not yet part of a returned frame.
    [[nodiscard]] std::size_t buffered() const { return buffer_.size() - consumed_; }

  private:
    void drop_consumed();

    std::size_t payload_max_;
    std::size_t consumed_ = 0;
    std::string buffer_;
    std::optional<Error> broken_;
};

}  // namespace twinyard::rpc
