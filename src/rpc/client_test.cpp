#include "rpc/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "rpc/loop.h"
#include "rpc/server.h"
#include "rpc/testing.h"

namespace twinyard::rpc {
namespace {

ClientOptions quick() {
    return {.reconnect_delay_min = Millis{1},
            .reconnect_delay_max = Millis{10},
            .connect_timeout = Millis{5'000}};
}

Result<Server> echo_server(const std::string& path) {
    return Server::listen(path, {}, [](Call call) { call.reply(std::move(call.payload())); });
}

Result<std::string> call(Client& client, std::string payload, Millis deadline = Millis{0}) {
    std::promise<Result<std::string>> answer;
    client.call(1, std::move(payload), deadline, [&](Result<std::string> reply) {
        answer.set_value(std::move(reply));
    });
    return answer.get_future().get();
}

TEST(Client, MalformedAddressesAreRefusedAtOnce) {
    EXPECT_EQ(Client::connect("tls:host:1", {}, {}).error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(Client::connect("relative", {}, {}).error().code(), ErrorCode::InvalidArgument);
}

TEST(Client, WaitsForAServerThatComesLater) {
    const TempFolder folder;
    Watched<int> failures;
    Result<Client> client = Client::connect(
        folder.socket(),
        quick(),
        {.on_connected = {}, .on_disconnected = [&](const Error&, bool was_connected) {
             if (was_connected) return;  // At the end of the test.
             failures.update([](int& count) { ++count; });
         }});
    std::promise<Result<std::string>> answer;
    client->call(1, "early", Millis{0}, [&](Result<std::string> reply) {
        answer.set_value(std::move(reply));
    });
    ASSERT_TRUE(failures.wait([](int count) { return count >= 3; }));
    EXPECT_FALSE(client->connected());
    const Result<Server> server = echo_server(folder.socket());
    EXPECT_EQ(answer.get_future().get(), "early");
    EXPECT_TRUE(client->connected());
}

TEST(Client, ReconnectsAfterARestartAndFailsWhatWasSent) {
    const TempFolder folder;
    Watched<int> ups;
    Watched<int> downs;
    Result<Client> client = Client::connect(folder.socket(),
                                            quick(),
                                            {.on_connected =
                                                 [&](std::uint16_t version) {
                                                     EXPECT_EQ(version, kProtocolVersion);
                                                     ups.update([](int& count) { ++count; });
                                                 },
                                             .on_disconnected =
                                                 [&](const Error&, bool was_connected) {
                                                     if (was_connected)
                                                         downs.update([](int& count) { ++count; });
                                                 }});
    Watched<bool> sent;
    std::vector<Call> held;
    std::optional<Result<Server>> server = Server::listen(folder.socket(), {}, [&](Call request) {
        held.push_back(std::move(request));
        sent.set(true);
    });
    ASSERT_TRUE(ups.wait_for_value(1));
    std::promise<Result<std::string>> lost;
    client->call(
        1, "lost", Millis{0}, [&](Result<std::string> reply) { lost.set_value(std::move(reply)); });
    ASSERT_TRUE(sent.wait_for_value(true));
    server.reset();
    EXPECT_EQ(lost.get_future().get().error().code(), ErrorCode::Unavailable);
    ASSERT_TRUE(downs.wait_for_value(1));
    server = echo_server(folder.socket());
    ASSERT_TRUE(ups.wait_for_value(2));
    EXPECT_EQ(call(*client, "again"), "again");
}

TEST(Client, DeadlinesHoldWithoutAServerAndLeaveTheLineFree) {
    const TempFolder folder;
    ClientOptions options = quick();
    options.calls_waiting_max = 3;
    Result<Client> client = Client::connect(folder.socket(), options, {});
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(call(*client, "x", Millis{2}).error().message(), "no answer within the deadline");
    }
    Watched<int> ended;
    for (int i = 0; i < 3; ++i) {
        client->call(1, "x", Millis{0}, [&](const Result<std::string>&) {
            ended.update([](int& n) { ++n; });
        });
    }
    EXPECT_EQ(call(*client, "x").error().message(), "too many calls are waiting for the server");
    EXPECT_EQ(ended.get(), 0);
    client->stop();
    EXPECT_EQ(ended.get(), 3) << "stop() ends them before it returns";
    EXPECT_EQ(call(*client, "x").error().message(), "the client was stopped");
}

TEST(Client, WithoutReconnectALostServerIsFinal) {
    const TempFolder folder;
    std::optional<Result<Server>> server = echo_server(folder.socket());
    ClientOptions options = quick();
    options.reconnect = false;
    Result<Client> client = Client::connect(folder.socket(), options, {});
    EXPECT_EQ(call(*client, "x"), "x");
    server.reset();
    server = echo_server(folder.socket());
    EXPECT_EQ(call(*client, "x").error().code(), ErrorCode::Unavailable);
    EXPECT_FALSE(client->connected());
}

TEST(Client, ASilentServerIsGivenUp) {
    const TempFolder folder;
    const Result<UniqueFd> listening = listen_unix(folder.socket(), 0666);
    ASSERT_TRUE(listening);
    ClientOptions options = quick();
    options.connect_timeout = Millis{5};
    Watched<std::string> reason;
    const Result<Client> never_greeted = Client::connect(
        folder.socket(),
        options,
        {.on_connected = {},
         .on_disconnected = [&](const Error& error, bool) { reason.set(error.message()); }});
    EXPECT_TRUE(reason.wait_for_value("no greeting from the server in time"));
}

TEST(Client, PingsFindADeadPeerAndKeepALiveOne) {
    const TempFolder folder;
    ClientOptions options = quick();
    options.ping_interval = Millis{5};
    Watched<std::string> reason;
    {
        const Result<UniqueFd> listening = listen_unix(folder.socket(), 0666);
        std::optional<Result<Client>> client = Client::connect(
            folder.socket(),
            options,
            {.on_connected = {},
             .on_disconnected = [&](const Error& error, bool) { reason.set(error.message()); }});
        pollfd watched{.fd = listening->get(), .events = POLLIN, .revents = 0};
        ASSERT_EQ(::poll(&watched, 1, 30'000), 1);
        const UniqueFd accepted(::accept(listening->get(), nullptr, nullptr));
        raw_write(accepted.get(),
                  encode_frame({.type = FrameType::Hello},
                               encode_hello({.requests_max = 1, .software = {}})));
        EXPECT_TRUE(reason.wait_for_value("the server has fallen silent"));
    }
    ::unlink(folder.socket().c_str());
    const Result<Server> server = echo_server(folder.socket());
    Watched<int> losses;
    Watched<int> ups;
    Loop loop;
    Result<Client> client = Client::connect(
        loop,
        folder.socket(),
        options,
        {.on_connected = [&](std::uint16_t) { ups.update([](int& n) { ++n; }); },
         .on_disconnected = [&](const Error&, bool) { losses.update([](int& n) { ++n; }); }});
    const Timer end = loop.after(Millis{100}, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(ups.get(), 1);
    EXPECT_EQ(losses.get(), 0);
}

TEST(Client, GarbageFromAServerIsALostConnection) {
    const TempFolder folder;
    const Result<UniqueFd> listening = listen_unix(folder.socket(), 0666);
    Watched<std::string> reason;
    const Result<Client> client = Client::connect(
        folder.socket(),
        quick(),
        {.on_connected = {},
         .on_disconnected = [&](const Error& error, bool) { reason.set(error.message()); }});
    pollfd watched{.fd = listening->get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&watched, 1, 30'000), 1);
    const UniqueFd accepted(::accept(listening->get(), nullptr, nullptr));
    raw_write(accepted.get(), std::string(100, '\xff'));
    EXPECT_TRUE(reason.wait_for_value("unknown frame type 255"));
}

TEST(Client, MayBeStoppedInsideItsOwnCallbackOnASharedLoop) {
    const TempFolder folder;
    const Result<Server> server = echo_server(folder.socket());
    Loop loop;
    std::optional<Client> client;
    client.emplace(std::move(*Client::connect(loop, folder.socket(), quick(), {})));
    int ended = 0;
    for (int i = 0; i < 3; ++i) {
        client->call(1, "x", Millis{0}, [&](const Result<std::string>& reply) {
            EXPECT_EQ(reply.has_value(), ended == 0);
            if (++ended == 1) client.reset();
            if (ended == 3) loop.stop();
        });
    }
    loop.run();
    EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace twinyard::rpc
