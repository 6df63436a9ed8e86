#include "rpc/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace twinyard::rpc {
namespace {

constexpr std::size_t kSoftwareMax = 200;
constexpr std::size_t kErrorMessageMax = std::size_t{64} << 10;
/// A decoder keeps a buffer of this size between frames; a larger one is given back when it is
/// empty.
constexpr std::size_t kIdleBufferMax = 2048;

template <class T>
void put(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
    }
}

template <class T>
T get(std::string_view bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + i])} << (8 * i);
    }
    return static_cast<T>(value);
}

bool known_type(std::uint8_t type) {
    return type >= static_cast<std::uint8_t>(FrameType::Hello) &&
           type <= static_cast<std::uint8_t>(FrameType::Pong);
}

bool about_a_request(FrameType type) {
    return type == FrameType::Request || type == FrameType::Reply ||
           type == FrameType::StreamData || type == FrameType::Cancel;
}

bool known_code(std::uint16_t code) {
    return code <= static_cast<std::uint16_t>(ErrorCode::Corrupt);
}

}  // namespace

void append_frame(std::string& out, const FrameHead& head, std::string_view payload) {
    CHECK(payload.size() <= kPayloadMax);
    put(out, static_cast<std::uint32_t>(payload.size()));
    put(out, static_cast<std::uint8_t>(head.type));
    put(out, head.flags);
    put(out, head.method);
    put(out, head.request_id);
    out.append(payload);
}

std::string encode_frame(const FrameHead& head, std::string_view payload) {
    std::string out;
    out.reserve(kFrameHeaderSize + payload.size());
    append_frame(out, head, payload);
    return out;
}

std::string encode_hello(const Hello& hello) {
    const std::string_view software = std::string_view(hello.software).substr(0, kSoftwareMax);
    std::string out;
    put(out, kHelloMagic);
    put(out, hello.version_min);
    put(out, hello.version_max);
    put(out, hello.requests_max);
    put(out, static_cast<std::uint16_t>(software.size()));
    out.append(software);
    return out;
}

Result<Hello> decode_hello(std::string_view payload) {
    constexpr std::size_t kFixed = 12;
    if (payload.size() < kFixed || get<std::uint32_t>(payload, 0) != kHelloMagic) {
        return fail(ErrorCode::Corrupt, "the peer does not speak this protocol");
    }
    const std::size_t software_size = get<std::uint16_t>(payload, 10);
    if (software_size > kSoftwareMax || kFixed + software_size > payload.size()) {
        return fail(ErrorCode::Corrupt, "broken greeting");
    }
    return Hello{.version_min = get<std::uint16_t>(payload, 4),
                 .version_max = get<std::uint16_t>(payload, 6),
                 .requests_max = get<std::uint16_t>(payload, 8),
                 .software = std::string(payload.substr(kFixed, software_size))};
}

Result<std::uint16_t> common_version(const Hello& ours, const Hello& theirs) {
    const std::uint16_t highest = std::min(ours.version_max, theirs.version_max);
    if (highest >= std::max(ours.version_min, theirs.version_min)) return highest;
    const auto range = [](const Hello& hello) {
        return std::to_string(hello.version_min) + " to " + std::to_string(hello.version_max);
    };
    return fail(
        ErrorCode::InvalidArgument,
        "no common protocol version: " + range(ours) + " here, " + range(theirs) + " there");
}

std::string encode_error(const Error& error) {
    std::string out;
    put(out, static_cast<std::uint16_t>(error.code()));
    out.append(std::string_view(error.message()).substr(0, kErrorMessageMax));
    return out;
}

Error decode_error(std::string_view payload) {
    if (payload.size() < 2) return {ErrorCode::Corrupt, "broken error from the peer"};
    const auto code = get<std::uint16_t>(payload, 0);
    std::string message(payload.substr(2));
    if (!known_code(code)) {
        return {ErrorCode::Corrupt, "unknown error " + std::to_string(code) + ": " + message};
    }
    return {static_cast<ErrorCode>(code), std::move(message)};
}

void FrameDecoder::append(std::string_view bytes) {
    if (broken_) return;
    drop_consumed();
    buffer_.append(bytes);
}

void FrameDecoder::drop_consumed() {
    if (consumed_ == buffer_.size()) {
        buffer_.clear();
        consumed_ = 0;
        // Assigning an empty string would keep the memory.
        if (buffer_.capacity() > kIdleBufferMax) std::string().swap(buffer_);
    } else if (consumed_ > buffer_.size() / 2) {
        // Moves less than it frees, so the cost a byte stays constant.
        buffer_.erase(0, consumed_);
        consumed_ = 0;
    }
}

Result<std::optional<Frame>> FrameDecoder::next() {
    if (broken_) return fail(*broken_);
    const std::string_view rest = std::string_view(buffer_).substr(consumed_);
    if (rest.size() < kFrameHeaderSize) {
        if (rest.empty()) drop_consumed();
        return std::nullopt;
    }
    const auto length = get<std::uint32_t>(rest, 0);
    const auto type = get<std::uint8_t>(rest, 4);
    Frame frame{.type = static_cast<FrameType>(type),
                .flags = get<std::uint8_t>(rest, 5),
                .method = get<std::uint16_t>(rest, 6),
                .request_id = get<std::uint64_t>(rest, 8),
                .payload = {}};
    if (!known_type(type)) {
        broken_ = Error(ErrorCode::Corrupt, "unknown frame type " + std::to_string(type));
    } else if (about_a_request(frame.type) && frame.request_id == 0) {
        broken_ = Error(ErrorCode::Corrupt, "frame without a request id");
    } else if (length > payload_max_) {
        broken_ = Error(ErrorCode::InvalidArgument,
                        "a frame of " + std::to_string(length) + " bytes is over the limit of " +
                            std::to_string(payload_max_));
    }
    if (broken_) {
        std::string().swap(buffer_);
        consumed_ = 0;
        return fail(*broken_);
    }
    if (rest.size() - kFrameHeaderSize < length) return std::nullopt;
    frame.payload.assign(rest.substr(kFrameHeaderSize, length));
    consumed_ += kFrameHeaderSize + length;
    return frame;
}

}  // namespace twinyard::rpc
