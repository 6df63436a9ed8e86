#include "client/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "client/find_socket.h"
#include "rpc/server.h"
#include "rpc/testing.h"

namespace twinyard::client {
namespace {

using rpc::Call;
using rpc::Flow;
using rpc::Server;
using rpc::TempFolder;
using rpc::Watched;

enum Method : std::uint16_t { kEcho = 1, kCount, kUpper, kRefuse, kNever, kFlood };

void send_flood(const std::shared_ptr<Call>& call, const std::shared_ptr<int>& left) {
    while (--*left >= 0) {
        const Flow flow = call->send_part(std::string(50'000, 'f'));
        if (flow == Flow::Paused)
            return call->on_writable([call, left] { send_flood(call, left); });
        if (flow == Flow::Closed) return;
    }
    call->finish();
}

class ConnectionTest : public testing::Test {
  protected:
    void serve(rpc::ServerOptions options = {}) {
        Result<Server> listening = Server::listen(
            folder.socket(), std::move(options), [this](Call call) { handle(std::move(call)); });
        ASSERT_TRUE(listening) << listening.error().message();
        server.emplace(std::move(*listening));
    }

    void handle(Call call) {
        switch (call.method()) {
            case kEcho:
                return call.reply(std::move(call.payload()));
            case kCount:
                for (char c = '0'; c <= '9'; ++c)
                    call.send_part(std::string(1, c));
                return call.finish();
            case kUpper: {
                auto shared = std::make_shared<Call>(std::move(call));
                return shared->on_part([shared](const std::string& part, bool last) {
                    if (last) return shared->reply("bye");
                    shared->send_part("<" + part + ">");
                });
            }
            case kRefuse:
                return call.fail({ErrorCode::Unavailable, "too busy"});
            case kNever: {
                auto shared = std::make_shared<Call>(std::move(call));
                return shared->on_cancel(
                    [this, shared] { cancels.update([](int& count) { ++count; }); });
            }
            case kFlood:
                // Sends much while the client also sends much: neither may wait for the other for
                // ever.
                return send_flood(std::make_shared<Call>(std::move(call)),
                                  std::make_shared<int>(400));
            default:
                return;
        }
    }

    Connection open() {
        Result<Connection> connection = Connection::open(folder.socket(), Millis{10'000});
        CHECK(connection.has_value());
        return std::move(*connection);
    }

    TempFolder folder;
    Watched<int> cancels;
    std::optional<Server> server;
};

TEST_F(ConnectionTest, CallsAndRefusals) {
    serve();
    Connection connection = open();
    EXPECT_EQ(connection.version(), rpc::kProtocolVersion);
    EXPECT_EQ(connection.call(kEcho, "hello"), "hello");
    EXPECT_EQ(connection.call(kCount, ""), "0123456789");
    EXPECT_EQ(connection.call(kRefuse, "").error(), Error(ErrorCode::Unavailable, "too busy"));
    EXPECT_FALSE(connection.lost()) << "a refusal is an answer";
    const std::string large(rpc::kPayloadMax, 'x');
    EXPECT_EQ(connection.call(kEcho, large), large);
    EXPECT_EQ(connection.call(kEcho, large + "x").error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(connection.call(kEcho, "still fine"), "still fine");
}

TEST_F(ConnectionTest, StreamedAnswerCanBeCutShort) {
    serve();
    Connection connection = open();
    std::vector<std::string> parts;
    const auto collect = [&](std::string part) {
        parts.push_back(std::move(part));
        return parts.size() < 3;
    };
    EXPECT_TRUE(connection.call_streamed(kCount, "", collect));
    EXPECT_EQ(parts, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(connection.call(kEcho, "next"), "next") << "late parts are not taken for its answer";
    parts.clear();
    EXPECT_TRUE(connection.call_streamed(kEcho, "all", collect));
    EXPECT_EQ(parts, (std::vector<std::string>{"all"}));
    EXPECT_FALSE(connection.call_streamed(kRefuse, "", collect));
}

TEST_F(ConnectionTest, StreamBothWaysWithPoll) {
    serve();
    Connection connection = open();
    ASSERT_TRUE(connection.start(kUpper, "", true));
    EXPECT_EQ(connection.read_event(Wait::No)->kind, Event::Kind::None);
    ASSERT_TRUE(connection.send_stream_part("ab", false));
    pollfd watched{.fd = connection.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&watched, 1, 30'000), 1);
    const Result<Event> part = connection.read_event(Wait::No);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->kind, Event::Kind::Part);
    EXPECT_EQ(part->payload, "<ab>");
    EXPECT_EQ(connection.read_event(Wait::No)->kind, Event::Kind::None);
    ASSERT_TRUE(connection.send_stream_part("", true));
    const Result<Event> end = connection.read_event(Wait::UntilEvent);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->kind, Event::Kind::End);
    EXPECT_EQ(end->payload, "bye");
    EXPECT_TRUE(connection.send_stream_part("late", false)) << "dropped, not an error";
}

TEST_F(ConnectionTest, SendingMuchWhileReceivingMuchDoesNotLock) {
    serve({.write_buffer_pause = 10'000});
    Connection connection = open();
    ASSERT_TRUE(connection.start(kFlood, "", true));
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(connection.send_stream_part(std::string(9'000, 's'), false));
    std::size_t bytes = 0;
    for (;;) {
        const Result<Event> event = connection.read_event(Wait::UntilEvent);
        ASSERT_TRUE(event) << event.error().message();
        bytes += event->payload.size();
        if (event->kind == Event::Kind::End) break;
    }
    EXPECT_EQ(bytes, 400U * 50'000U);
}

TEST_F(ConnectionTest, CancelIsTold) {
    serve();
    Connection connection = open();
    ASSERT_TRUE(connection.start(kNever, "", false));
    ASSERT_TRUE(connection.cancel());
    EXPECT_TRUE(cancels.wait_for_value(1));
    EXPECT_EQ(connection.call(kEcho, "x"), "x");
    EXPECT_TRUE(Connection::open(folder.socket(), Millis{0})) << "no time to retry, but one try";
}

TEST_F(ConnectionTest, NobodyThereIsUnavailableAfterTheTimeout) {
    const auto start = std::chrono::steady_clock::now();
    const Result<Connection> connection = Connection::open(folder.socket(), Millis{30});
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code(), ErrorCode::Unavailable);
    EXPECT_GE(std::chrono::steady_clock::now() - start, Millis{30});
    EXPECT_FALSE(Connection::open(folder.socket(), Millis{0}));
}

TEST_F(ConnectionTest, AServerThatComesLateIsFound) {
    Result<Connection> connection = fail(ErrorCode::Unavailable, "");
    std::thread opening([&] { connection = Connection::open(folder.socket(), Millis{30'000}); });
    serve();
    opening.join();
    ASSERT_TRUE(connection) << connection.error().message();
    EXPECT_EQ(connection->call(kEcho, "x"), "x");
}

TEST_F(ConnectionTest, AFullServerIsTriedAgain) {
    serve({.connections_max = 1});
    std::optional<Connection> first = open();
    EXPECT_EQ(Connection::open(folder.socket(), Millis{10}).error().message(),
              folder.socket() + ": too many connections");
    Result<Connection> second = fail(ErrorCode::Unavailable, "");
    std::thread opening([&] { second = Connection::open(folder.socket(), Millis{30'000}); });
    first.reset();
    opening.join();
    EXPECT_TRUE(second);
}

TEST_F(ConnectionTest, AServerThatNeverGreetsOrNeverAnswersTimesOut) {
    {
        const Result<rpc::UniqueFd> deaf = rpc::listen_unix(folder.socket(), 0666);
        EXPECT_EQ(Connection::open(folder.socket(), Millis{20}).error().code(),
                  ErrorCode::Unavailable);
    }
    serve();
    Connection connection = open();
    connection.set_reply_timeout(Millis{10});
    EXPECT_EQ(connection.call(kNever, "").error(),
              Error(ErrorCode::Unavailable, "no answer in time"));
    EXPECT_TRUE(connection.lost());
    EXPECT_FALSE(connection.call(kEcho, "x"));
}

TEST_F(ConnectionTest, AServerThatDiesMidCallIsLost) {
    serve();
    Connection connection = open();
    ASSERT_TRUE(connection.start(kNever, "", false));
    server->stop();
    EXPECT_EQ(connection.read_event(Wait::UntilEvent).error().code(), ErrorCode::Unavailable);
    EXPECT_TRUE(connection.lost());
    EXPECT_FALSE(connection.call(kEcho, "x"));
}

TEST_F(ConnectionTest, GarbageInsteadOfAGreetingIsNotRetried) {
    const Result<rpc::UniqueFd> listening = rpc::listen_unix(folder.socket(), 0666);
    std::thread serving([&] {
        pollfd watched{.fd = listening->get(), .events = POLLIN, .revents = 0};
        ASSERT_EQ(::poll(&watched, 1, 30'000), 1);
        const rpc::UniqueFd fd(::accept(listening->get(), nullptr, nullptr));
        rpc::raw_write(fd.get(), rpc::encode_frame({.type = rpc::FrameType::Pong}, "?"));
        (void)rpc::raw_read(fd.get());
    });
    EXPECT_EQ(Connection::open(folder.socket(), Millis{30'000}).error().code(), ErrorCode::Corrupt);
    serving.join();
}

void touch(const std::string& path) {
    rpc::UniqueFd(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
}

TEST(FindControllerSocket, TakesTheFirstThatExists) {
    const TempFolder folder;
    const std::string conf = folder.path() + "/slurm.conf";
    const std::string run = folder.path() + "/run";
    const std::string system = folder.path() + "/system";
    const SocketSearch search{.slurm_conf = conf, .system_dir = system};
    ASSERT_EQ(::mkdir(run.c_str(), 0700), 0);
    ASSERT_EQ(::mkdir(system.c_str(), 0700), 0);
    const std::vector<std::string> in_order{run + "/controller.sock",
                                            run + "/agent.sock",
                                            system + "/controller.sock",
                                            system + "/agent.sock"};
    EXPECT_EQ(find_controller_socket(search), in_order.front()) << "none: the one to wait for";
    EXPECT_EQ(find_controller_socket({.slurm_conf = "", .system_dir = system}), in_order[2]);
    for (auto path = in_order.rbegin(); path != in_order.rend(); ++path) {
        touch(*path);
        EXPECT_EQ(find_controller_socket(search), *path);
    }
    for (const std::string& path : in_order)
        ::unlink(path.c_str());
    ::rmdir(run.c_str());
    ::rmdir(system.c_str());
}

TEST(FindControllerSocket, ReadsSlurmConf) {
    ::setenv("SLURM_CONF", "/somewhere/slurm.conf", 1);
    EXPECT_EQ(find_controller_socket(search_from_environment()), "/somewhere/run/controller.sock");
    ::unsetenv("SLURM_CONF");
    EXPECT_EQ(search_from_environment().slurm_conf, "");
    EXPECT_EQ(find_controller_socket({.slurm_conf = "slurm.conf", .system_dir = "/nowhere"}),
              "./run/controller.sock");
}

}  // namespace
}  // namespace twinyard::client
