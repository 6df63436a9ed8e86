#include "rpc/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <deque>
#include <ranges>
#include <thread>
#include <vector>

#include "rpc/client.h"
#include "rpc/loop.h"
#include "rpc/testing.h"

namespace twinyard::rpc {
namespace {

enum Method : std::uint16_t { kEcho = 1, kHold, kCount, kSink, kUpper, kRefuse, kDrop, kPeer };

/// A server on a thread of its own with one handler for all tests. Held calls wait in `held`.
class Fixture : public testing::Test {
  protected:
    void serve(ServerOptions options = {}) {
        Result<Server> listening = Server::listen(
            folder.socket(), std::move(options), [this](Call call) { handle(std::move(call)); });
        ASSERT_TRUE(listening) << listening.error().message();
        server.emplace(std::move(*listening));
    }

    void handle(Call call) {
        switch (call.method()) {
            case kEcho:
                return call.reply(std::move(call.payload()));
            case kHold: {
                call.on_cancel([this] { cancels.update([](int& count) { ++count; }); });
                auto shared = std::make_shared<Call>(std::move(call));
                return held.update([&](auto& calls) { calls.push_back(shared); });
            }
            case kCount:
                for (char c = '0'; c <= '9'; ++c)
                    EXPECT_EQ(call.send_part(std::string(1, c)), Flow::Open);
                return call.finish();
            case kUpper: {
                auto shared = std::make_shared<Call>(std::move(call));
                return shared->on_part([shared](const std::string& part, bool last) {
                    std::string upper;
                    for (const char c : part)
                        upper += static_cast<char>(::toupper(c));
                    if (last) return shared->reply(upper);
                    shared->send_part(upper);
                });
            }
            case kRefuse:
                return call.fail({ErrorCode::Conflict, "refused for a test"});
            case kPeer:
                return call.reply(std::to_string(call.peer().uid) + " " +
                                  std::to_string(call.peer().gid) + " " +
                                  std::to_string(call.peer().pid) + " " + call.peer().software);
            default:
                return;  // Dropped.
        }
    }

    UniqueFd greeted_connection() {
        UniqueFd fd = raw_connect(folder.socket());
        raw_write(fd.get(),
                  encode_frame({.type = FrameType::Hello}, encode_hello({.software = "raw"})));
        FrameDecoder decoder;
        decoder.append(raw_read(fd.get(), kFrameHeaderSize));
        decoder.append(raw_read(fd.get(), encode_hello({.software = "twinyard"}).size()));
        const auto frame = decoder.next();
        EXPECT_TRUE(frame && frame->has_value() && (*frame)->type == FrameType::Hello);
        return fd;
    }

    /// The frames that come until the server closes.
    static std::vector<Frame> read_to_end(int fd) {
        FrameDecoder decoder;
        decoder.append(raw_read(fd));
        std::vector<Frame> frames;
        for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next()) {
            frames.push_back(std::move(**frame));
        }
        return frames;
    }

    static std::string request(Method method, std::uint64_t id, std::string_view payload) {
        return encode_frame({.type = FrameType::Request, .method = method, .request_id = id},
                            payload);
    }

    Client client(ClientOptions options = {}) {
        return std::move(*Client::connect(folder.socket(), std::move(options), {}));
    }

    static Result<std::string> call(Client& client,
                                    Method method,
                                    std::string payload,
                                    Millis deadline = Millis{0}) {
        std::promise<Result<std::string>> answer;
        client.call(method, std::move(payload), deadline, [&](Result<std::string> reply) {
            answer.set_value(std::move(reply));
        });
        return answer.get_future().get();
    }

    bool expect_echo_works() {
        Client other = client();
        return call(other, kEcho, "alive") == "alive";
    }

    TempFolder folder;
    Watched<std::vector<std::shared_ptr<Call>>> held;
    Watched<int> cancels;
    std::optional<Server> server;
};

TEST_F(Fixture, AnswersErrorsAndDroppedCalls) {
    serve();
    Client c = client();
    EXPECT_EQ(call(c, kEcho, "hello"), "hello");
    EXPECT_EQ(call(c, kEcho, ""), "");
    EXPECT_EQ(call(c, kRefuse, "").error(), Error(ErrorCode::Conflict, "refused for a test"));
    EXPECT_EQ(call(c, kDrop, "").error(), Error(ErrorCode::Unavailable, "the request was dropped"));
    EXPECT_EQ(call(c, kCount, ""), "0123456789") << "a call joins the parts";
    const std::string large(kPayloadMax, 'x');
    EXPECT_EQ(call(c, kEcho, large), large);
    EXPECT_EQ(call(c, kEcho, large + "x").error().code(), ErrorCode::InvalidArgument);
}

TEST_F(Fixture, ThePeerIsWhoTheKernelSays) {
    serve();
    Client c = client({.software = "tester 1"});
    EXPECT_EQ(call(c, kPeer, ""),
              std::to_string(::getuid()) + " " + std::to_string(::getgid()) + " " +
                  std::to_string(::getpid()) + " tester 1");
}

TEST_F(Fixture, ManyCallsArePipelinedBeyondTheServersLimit) {
    serve({.requests_max = 4});
    Client c = client();
    Watched<int> done;
    for (int i = 0; i < 500; ++i) {
        c.call(kEcho, std::to_string(i), Millis{0}, [&done, i](const Result<std::string>& reply) {
            EXPECT_EQ(reply, std::to_string(i));
            done.update([](int& count) { ++count; });
        });
    }
    EXPECT_TRUE(done.wait_for_value(500));
}

TEST_F(Fixture, AnswersMayComeOutOfOrderAndFromOtherThreads) {
    serve();
    Client c = client();
    Watched<std::string> order;
    for (const char name : {'a', 'b', 'c'}) {
        c.call(kHold, std::string(1, name), Millis{0}, [&order](const Result<std::string>& reply) {
            order.update([&](std::string& text) { text += reply.value_or("?"); });
        });
    }
    ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 3; }));
    std::thread answering([&] {
        for (const auto& call : held.get() | std::views::reverse)
            call->reply(call->payload());
    });
    EXPECT_TRUE(order.wait_for_value("cba"));
    answering.join();
}

TEST_F(Fixture, OneRequestTooManyIsRefusedAlone) {
    serve({.requests_max = 2});
    const UniqueFd fd = greeted_connection();
    raw_write(fd.get(), request(kHold, 1, "") + request(kHold, 2, "") + request(kEcho, 3, "x"));
    const std::string error =
        encode_error({ErrorCode::Unavailable, "too many requests on one connection"});
    FrameDecoder decoder;
    decoder.append(raw_read(fd.get(), kFrameHeaderSize + error.size()));
    const auto frame = decoder.next();
    ASSERT_TRUE(frame && frame->has_value());
    EXPECT_EQ(**frame, (Frame{.type = FrameType::Error, .request_id = 3, .payload = error}));
    held.get()[0]->reply("one");
    EXPECT_EQ(raw_read(fd.get(), kFrameHeaderSize + 3).substr(kFrameHeaderSize), "one");
}

TEST_F(Fixture, StreamsFlowBothWays) {
    serve();
    Client c = client();
    Watched<std::string> got;
    std::promise<Status> end;
    const CallId stream = c.open_stream(
        {.method = kUpper, .payload = {}, .sends_parts = true},
        [&](const std::string& part) { got.update([&](std::string& text) { text += part; }); },
        [&](Status status) { end.set_value(std::move(status)); });
    c.send_part(stream, "some ");
    ASSERT_TRUE(got.wait_for_value("SOME ")) << "parts come back while the stream is open";
    c.send_part(stream, "text");
    c.send_part(stream, "!", true);
    EXPECT_TRUE(end.get_future().get());
    EXPECT_EQ(got.get(), "SOME TEXT!");
}

TEST_F(Fixture, PartsNobodyTakesFailTheRequest) {
    serve();
    Client c = client();
    std::promise<Status> end;
    const CallId stream = c.open_stream(
        {.method = kHold, .payload = {}, .sends_parts = true},
        [](const std::string&) {},
        [&](Status status) { end.set_value(std::move(status)); });
    for (int i = 0; i < 3; ++i)
        c.send_part(stream, std::string(600'000, 'x'));
    EXPECT_EQ(end.get_future().get().error().code(), ErrorCode::InvalidArgument);
}

TEST_F(Fixture, CancelDeadlineAndLossReachTheHandler) {
    serve();
    {
        Client c = client();
        const CallId id =
            c.call(kHold, "", Millis{0}, [](const Result<std::string>&) { ADD_FAILURE(); });
        ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 1; }));
        c.cancel(id);
        ASSERT_TRUE(cancels.wait_for_value(1));
        EXPECT_EQ(call(c, kHold, "", Millis{10}).error(),
                  Error(ErrorCode::Unavailable, "no answer within the deadline"));
        ASSERT_TRUE(cancels.wait_for_value(2));
        c.call(kHold, "", Millis{0}, [](const Result<std::string>&) {});
        ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 3; }));
    }
    ASSERT_TRUE(cancels.wait_for_value(3)) << "the connection is gone";
    for (const auto& call : held.get()) {
        EXPECT_TRUE(call->cancelled());
        EXPECT_EQ(call->send_part("late"), Flow::Closed);
        call->reply("late");
    }
    EXPECT_TRUE(expect_echo_works());
}

TEST_F(Fixture, ASlowReaderPausesTheSenderAndLosesNothing) {
    serve({.write_buffer_pause = 100'000});
    const UniqueFd fd = greeted_connection();
    raw_write(fd.get(), request(kHold, 1, ""));
    ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 1; }));
    const std::shared_ptr<Call> call = held.get()[0];
    const std::string part(10'000, 'p');
    std::size_t parts = 1;
    while (call->send_part(part) == Flow::Open)
        ++parts;
    EXPECT_LT(parts * part.size(), 10'000'000U) << "told to pause early";
    Watched<bool> writable;
    call->on_writable([&] { writable.set(true); });
    EXPECT_FALSE(writable.get());
    EXPECT_TRUE(expect_echo_works()) << "others are served meanwhile";
    const std::size_t frame_size = kFrameHeaderSize + part.size();
    EXPECT_EQ(raw_read(fd.get(), parts * frame_size).size(), parts * frame_size);
    EXPECT_TRUE(writable.wait_for_value(true));
    EXPECT_EQ(call->send_part(part), Flow::Open);
    call->finish();
    EXPECT_EQ(raw_read(fd.get(), frame_size + kFrameHeaderSize).size(),
              frame_size + kFrameHeaderSize);
}

TEST_F(Fixture, WhoNeverReadsIsCutOff) {
    const struct {
        const char* name;
        ServerOptions options;
        std::size_t bytes;
    } cases[] = {
        {"buffer full", {.write_buffer_pause = 10'000, .write_buffer_max = 1'000'000}, 50'000'000},
        {"stalled", {.write_buffer_pause = 10'000, .write_stall_max = Millis{30}}, 3'000'000},
    };
    for (const auto& c : cases) {
        held.set({});
        cancels.set(0);
        server.reset();
        serve(c.options);
        const UniqueFd fd = greeted_connection();
        raw_write(fd.get(), request(kHold, 1, ""));
        ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 1; })) << c.name;
        const std::shared_ptr<Call> call = held.get()[0];
        for (std::size_t sent = 0; sent < c.bytes && !call->cancelled(); sent += 50'000) {
            call->send_part(std::string(50'000, 'x'));
        }
        EXPECT_TRUE(cancels.wait_for_value(1)) << c.name;
        EXPECT_TRUE(expect_echo_works()) << c.name;
    }
}

TEST_F(Fixture, HostileClientsGetAReasonAndDisturbNobody) {
    serve();
    const std::string hello =
        encode_frame({.type = FrameType::Hello}, encode_hello({.software = {}}));
    std::string oversized = request(kEcho, 1, "");
    oversized[3] = 0x10;
    const struct {
        const char* name;
        std::string bytes;
        ErrorCode want;
    } cases[] = {
        {"http", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", ErrorCode::Corrupt},
        {"no greeting", request(kEcho, 1, ""), ErrorCode::Corrupt},
        {"long greeting",
         encode_frame({.type = FrameType::Hello}, std::string(5000, 'x')),
         ErrorCode::InvalidArgument},
        {"greeting of others",
         encode_frame({.type = FrameType::Hello}, "hello, server"),
         ErrorCode::Corrupt},
        {"future version",
         encode_frame({.type = FrameType::Hello},
                      encode_hello({.version_min = 900, .version_max = 901})),
         ErrorCode::InvalidArgument},
        {"oversized frame", hello + oversized, ErrorCode::InvalidArgument},
        {"garbage later", hello + std::string(64, '\xee'), ErrorCode::Corrupt},
        {"second greeting", hello + hello, ErrorCode::Corrupt},
        {"a server's frame",
         hello + encode_frame({.type = FrameType::Reply, .request_id = 1}, ""),
         ErrorCode::Corrupt},
        {"id twice", hello + request(kHold, 1, "") + request(kHold, 1, ""), ErrorCode::Corrupt},
    };
    for (const auto& c : cases) {
        const UniqueFd fd = raw_connect(folder.socket());
        raw_write(fd.get(), c.bytes);
        const std::vector<Frame> frames = read_to_end(fd.get());
        ASSERT_FALSE(frames.empty()) << c.name;
        EXPECT_EQ(frames.back().type, FrameType::Error) << c.name;
        EXPECT_EQ(frames.back().request_id, 0U) << c.name;
        EXPECT_EQ(decode_error(frames.back().payload).code(), c.want) << c.name;
    }
    EXPECT_TRUE(expect_echo_works());
}

TEST_F(Fixture, SilentAndHalfOpenClientsDelayNobodyAndGoInTheEnd) {
    serve({.hello_timeout = Millis{200}});
    const UniqueFd silent = raw_connect(folder.socket());
    const UniqueFd half = raw_connect(folder.socket());
    raw_write(half.get(), "\x20");
    const UniqueFd mid_frame = greeted_connection();
    raw_write(mid_frame.get(), request(kEcho, 1, std::string(1000, 'x')).substr(0, 500));
    EXPECT_TRUE(expect_echo_works());
    EXPECT_EQ(decode_error(read_to_end(silent.get()).at(0).payload).message(),
              "no greeting in time");
    EXPECT_EQ(decode_error(read_to_end(half.get()).at(0).payload).message(), "no greeting in time");
    // The clients see their end a moment before the server has counted it.
    for (int look = 0; look < 10'000 && server->connections() > 1; ++look)
        ::poll(nullptr, 0, 1);
    EXPECT_EQ(server->connections(), 1U) << "a slow request is waited for";
}

TEST_F(Fixture, UnfinishedInputOfAllIsLimited) {
    serve({.hello_timeout = Millis{400}, .input_bytes_max = 1'000'000});
    const UniqueFd small = greeted_connection();
    const UniqueFd large = greeted_connection();
    const std::string modest = request(kEcho, 1, std::string(100'000, 'x'));
    const std::string greedy = request(kEcho, 1, std::string(2'000'000, 'x'));
    raw_write(small.get(), std::string_view(modest).substr(0, 10'000));
    raw_write(large.get(), std::string_view(greedy).substr(0, 1'500'000));
    EXPECT_EQ(decode_error(read_to_end(large.get()).at(0).payload).message(),
              "too much unfinished input");
    raw_write(small.get(), std::string_view(modest).substr(10'000));
    EXPECT_EQ(raw_read(small.get(), modest.size()),
              encode_frame({.type = FrameType::Reply, .request_id = 1}, std::string(100'000, 'x')));
}

TEST_F(Fixture, TooManyConnectionsAreToldSo) {
    serve({.connections_max = 2});
    UniqueFd first = greeted_connection();
    const UniqueFd second = greeted_connection();
    const UniqueFd third = raw_connect(folder.socket());
    EXPECT_EQ(decode_error(read_to_end(third.get()).at(0).payload),
              Error(ErrorCode::Unavailable, "too many connections"));
    first.reset();
    EXPECT_TRUE(expect_echo_works()) << "a client that tries again gets in";
}

/// Sanitizers keep freed memory for a while, so there the figure says nothing about us.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsOurs = false;
#else
constexpr bool kMemoryIsOurs = true;
#endif

std::size_t resident_bytes() {
    std::size_t total = 0;
    std::size_t resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    const int read = std::fscanf(file, "%zu %zu", &total, &resident);
    std::fclose(file);
    return read == 2 ? resident * 4096 : 0;
}

TEST_F(Fixture, AThousandIdleConnectionsCostLittle) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2200) GTEST_SKIP() << "not enough file descriptors";
    serve();
    const std::size_t before = resident_bytes();
    std::vector<UniqueFd> connections;
    for (int i = 0; i < 1000; ++i) {
        connections.push_back(greeted_connection());
        // Each was used once, and with something large: what it grew must be given back.
        raw_write(connections.back().get(), request(kEcho, 1, std::string(40'000, 'x')));
        EXPECT_EQ(raw_read(connections.back().get(), kFrameHeaderSize + 40'000).size(),
                  kFrameHeaderSize + 40'000);
    }
    EXPECT_EQ(server->connections(), 1000U);
    if (kMemoryIsOurs) {
        EXPECT_LT(resident_bytes() - before, 1000U * 16 * 1024);
    }
    EXPECT_TRUE(expect_echo_works());
}

TEST_F(Fixture, StopClosesAllAndRemovesTheSocket) {
    serve();
    Client c = client({.reconnect = false});
    std::promise<Result<std::string>> answer;
    c.call(kHold, "", Millis{0}, [&](Result<std::string> reply) {
        answer.set_value(std::move(reply));
    });
    ASSERT_TRUE(held.wait([](const auto& calls) { return calls.size() == 1; }));
    std::thread([&] { server->stop(); }).join();
    EXPECT_EQ(answer.get_future().get().error().code(), ErrorCode::Unavailable);
    EXPECT_EQ(cancels.get(), 1);
    EXPECT_NE(::access(folder.socket().c_str(), F_OK), 0);
    server.reset();
    held.get()[0]->reply("after the server is gone");
    EXPECT_EQ(held.get()[0]->send_part("x"), Flow::Closed);
}

TEST_F(Fixture, TheSocketOfASuccessorIsNotRemoved) {
    serve();
    ::unlink(folder.socket().c_str());
    Result<Server> successor =
        Server::listen(folder.socket(), {}, [](Call call) { call.reply("new"); });
    ASSERT_TRUE(successor);
    server.reset();
    Client c = client();
    EXPECT_EQ(call(c, kEcho, ""), "new");
}

TEST_F(Fixture, StopUnderLoadFromManyThreads) {
    for (int round = 0; round < 5; ++round) {
        serve();
        Client c = client({.reconnect = false});
        Watched<int> done;
        std::vector<std::thread> callers;
        for (int t = 0; t < 4; ++t) {
            callers.emplace_back([&] {
                for (int i = 0; i < 200; ++i) {
                    c.call(kEcho, "x", Millis{0}, [&](const Result<std::string>&) {
                        done.update([](int& count) { ++count; });
                    });
                }
            });
        }
        ASSERT_TRUE(done.wait([](int count) { return count >= 50; }));
        server->stop();
        for (std::thread& caller : callers)
            caller.join();
        EXPECT_TRUE(done.wait_for_value(800)) << "each call ends exactly once";
        server.reset();
    }
}

TEST(SharedLoop, ServerAndClientLiveOnOneThread) {
    const TempFolder folder;
    Loop loop;
    std::string got;
    std::deque<Call> held;
    Timer later;
    Result<Server> server = Server::listen(loop, folder.socket(), {}, [&](Call call) {
        held.push_back(std::move(call));
        later = loop.after(Millis{1}, [&] { held.front().reply("pong"); });
    });
    ASSERT_TRUE(server);
    Result<Client> client = Client::connect(loop, folder.socket(), {}, {});
    ASSERT_TRUE(client);
    client->call(1, "ping", Millis{5'000}, [&](const Result<std::string>& reply) {
        got = reply.value_or("failed");
        client->stop();
        server->stop();
        loop.stop();
    });
    loop.run();
    EXPECT_EQ(got, "pong");
}

}  // namespace
}  // namespace twinyard::rpc
