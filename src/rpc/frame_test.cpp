#include "rpc/frame.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace twinyard::rpc {
namespace {

std::vector<Frame> sample_frames() {
    return {
        {.type = FrameType::Hello, .payload = encode_hello({.software = "test"})},
        {.type = FrameType::Request, .method = 7, .request_id = 1, .payload = "abc"},
        {.type = FrameType::StreamData,
         .flags = kFlagMore,
         .request_id = 1,
         .payload = std::string(9000, 'x')},
        {.type = FrameType::Reply,
         .flags = kFlagMore,
         .request_id = ~0ULL,
         .payload = std::string(3, '\0')},
        {.type = FrameType::Cancel, .request_id = 5},
        {.type = FrameType::Ping, .request_id = 0},
        {.type = FrameType::Error,
         .request_id = 9,
         .payload = encode_error({ErrorCode::Denied, "no"})},
    };
}

std::string encode_all(const std::vector<Frame>& frames) {
    std::string bytes;
    for (const Frame& frame : frames) {
        append_frame(
            bytes, {frame.type, frame.flags, frame.method, frame.request_id}, frame.payload);
    }
    return bytes;
}

/// All frames that can be taken now; the error ends the list.
std::vector<Frame> drain(FrameDecoder& decoder, std::optional<Error>& error) {
    std::vector<Frame> frames;
    for (;;) {
        Result<std::optional<Frame>> frame = decoder.next();
        if (!frame) error = frame.error();
        if (!frame || !frame->has_value()) return frames;
        frames.push_back(std::move(**frame));
    }
}

TEST(Frame, HeaderBytesAreTheDocumentedOnes) {
    const std::string bytes = encode_frame({.type = FrameType::Reply,
                                            .flags = kFlagMore,
                                            .method = 0x0102,
                                            .request_id = 0x1122334455667788},
                                           "hi");
    const std::string want("\x02\0\0\0\x03\x01\x02\x01\x88\x77\x66\x55\x44\x33\x22\x11hi", 18);
    EXPECT_EQ(bytes, want);
}

TEST(FrameDecoder, FindsTheFramesHoweverTheBytesAreCut) {
    const std::vector<Frame> want = sample_frames();
    const std::string bytes = encode_all(want);
    for (const std::size_t step : {std::size_t{1},
                                   std::size_t{2},
                                   std::size_t{15},
                                   std::size_t{16},
                                   std::size_t{17},
                                   std::size_t{4096},
                                   bytes.size()}) {
        FrameDecoder decoder;
        std::optional<Error> error;
        std::vector<Frame> got;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            decoder.append(std::string_view(bytes).substr(at, step));
            for (Frame& frame : drain(decoder, error))
                got.push_back(std::move(frame));
        }
        EXPECT_EQ(got, want) << "step " << step;
        EXPECT_FALSE(error) << "step " << step;
        EXPECT_EQ(decoder.buffered(), 0U) << "step " << step;
    }
}

TEST(FrameDecoder, ATornFrameIsWaitedFor) {
    const std::string bytes = encode_all(sample_frames());
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
        FrameDecoder decoder;
        std::optional<Error> error;
        decoder.append(std::string_view(bytes).substr(0, size));
        EXPECT_LT(drain(decoder, error).size(), sample_frames().size());
        EXPECT_FALSE(error);
    }
}

TEST(FrameDecoder, RefusesWhatIsNoFrame) {
    std::string oversized = encode_frame({.type = FrameType::Request, .request_id = 1}, "");
    oversized[3] = 0x01;  // 16 MiB announced; refused on the header alone.
    const struct {
        const char* name;
        std::string bytes;
        ErrorCode want;
    } cases[] = {
        {"http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", ErrorCode::Corrupt},
        {"zeros", std::string(16, '\0'), ErrorCode::Corrupt},
        {"unknown type",
         encode_frame({.type = static_cast<FrameType>(99)}, ""),
         ErrorCode::Corrupt},
        {"request without id", encode_frame({.type = FrameType::Request}, ""), ErrorCode::Corrupt},
        {"cancel without id", encode_frame({.type = FrameType::Cancel}, ""), ErrorCode::Corrupt},
        {"too large", oversized, ErrorCode::InvalidArgument},
    };
    for (const auto& c : cases) {
        FrameDecoder decoder;
        std::optional<Error> error;
        decoder.append(c.bytes);
        EXPECT_TRUE(drain(decoder, error).empty()) << c.name;
        ASSERT_TRUE(error) << c.name;
        EXPECT_EQ(error->code(), c.want) << c.name;
        decoder.append(encode_frame({.type = FrameType::Ping}, ""));
        EXPECT_FALSE(decoder.next()) << c.name << ": a lost stream stays lost";
    }
}

TEST(FrameDecoder, TheLimitItselfIsAllowed) {
    FrameDecoder decoder(100);
    decoder.append(
        encode_frame({.type = FrameType::Request, .request_id = 1}, std::string(100, 'x')));
    const auto frame = decoder.next();
    ASSERT_TRUE(frame && frame->has_value());
    EXPECT_EQ((*frame)->payload.size(), 100U);
    decoder.append(
        encode_frame({.type = FrameType::Request, .request_id = 1}, std::string(101, 'x')));
    EXPECT_FALSE(decoder.next());
}

/// Flips bytes of a good stream in many ways: never a crash, a frame over the limit, or an endless
/// loop.
TEST(FrameDecoder, SurvivesDamagedStreams) {
    const std::string good = encode_all(sample_frames());
    std::mt19937 random(
        42);  // NOLINT(bugprone-random-generator-seed): the same damage on every run.
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = good;
        for (unsigned i = 0; i < 1 + random() % 8; ++i) {
            bytes[random() % bytes.size()] = static_cast<char>(random() & 0xff);
        }
        FrameDecoder decoder(10'000);
        std::optional<Error> error;
        std::size_t frames = 0;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t step = 1 + random() % 3000;
            decoder.append(std::string_view(bytes).substr(at, step));
            at += step;
            for (const Frame& frame : drain(decoder, error)) {
                EXPECT_LE(frame.payload.size(), 10'000U);
                (void)decode_hello(frame.payload);
                (void)decode_error(frame.payload);
                ++frames;
            }
        }
        EXPECT_LE(frames, bytes.size() / kFrameHeaderSize);
    }
}

TEST(Hello, RoundTripAndBrokenOnes) {
    const Hello hello{
        .version_min = 2, .version_max = 5, .requests_max = 16, .software = "twinyard 0.1"};
    const std::string bytes = encode_hello(hello);
    EXPECT_EQ(decode_hello(bytes), hello);
    EXPECT_EQ(decode_hello(bytes + "fields of a later version"), hello);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_hello(std::string_view(bytes).substr(0, size))) << size;
    }
    EXPECT_FALSE(decode_hello("HELO" + bytes.substr(4)));
    EXPECT_TRUE(decode_hello(encode_hello({.software = std::string(5000, 'x')})));
}

TEST(Hello, VersionsMeet) {
    const auto range = [](std::uint16_t low, std::uint16_t high) {
        return Hello{.version_min = low, .version_max = high, .software = {}};
    };
    EXPECT_EQ(common_version(range(1, 3), range(2, 5)), 3);
    EXPECT_EQ(common_version(range(2, 5), range(1, 3)), 3);
    EXPECT_EQ(common_version(range(1, 1), range(1, 9)), 1);
    EXPECT_FALSE(common_version(range(1, 2), range(3, 4)));
    EXPECT_FALSE(common_version(range(3, 4), range(1, 2)));
    EXPECT_FALSE(common_version(range(1, 2), range(2, 1)));
}

TEST(ErrorPayload, RoundTripAndBrokenOnes) {
    for (const ErrorCode code : {ErrorCode::InvalidArgument,
                                 ErrorCode::NotFound,
                                 ErrorCode::Conflict,
                                 ErrorCode::Denied,
                                 ErrorCode::Unavailable,
                                 ErrorCode::Corrupt}) {
        EXPECT_EQ(decode_error(encode_error({code, "why"})), Error(code, "why"));
    }
    EXPECT_EQ(decode_error("").code(), ErrorCode::Corrupt);
    EXPECT_EQ(decode_error("\xff\xff what").message(), "unknown error 65535:  what");
    EXPECT_LT(encode_error({ErrorCode::Denied, std::string(1 << 20, 'x')}).size(), 70'000U);
}

}  // namespace
}  // namespace twinyard::rpc
