// The wire between our own processes: what one command pays for its call, and how many calls a
// daemon can pipeline.

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "base/check.h"
#include "client/connection.h"
#include "rpc/client.h"
#include "rpc/server.h"

namespace twinyard {
namespace {

constexpr std::uint16_t kEcho = 1;
constexpr std::uint16_t kManyParts = 2;
constexpr int kParts = 1000;

void answer(rpc::Call call) {
    if (call.method() == kManyParts) {
        for (int i = 0; i < kParts; ++i)
            call.send_part(call.payload());
        return call.finish();
    }
    call.reply(std::move(call.payload()));
}

/// An echo server in a folder of its own.
class EchoServer {
  public:
    EchoServer() {
        char folder[] = "/tmp/twinyard-bench-XXXXXX";
        CHECK(::mkdtemp(folder) != nullptr);
        folder_ = folder;
        server_.emplace(rpc::Server::listen(path(), {.requests_max = 1024}, answer));
        CHECK(server_->has_value());
    }
    ~EchoServer() {
        server_.reset();
        ::rmdir(folder_.c_str());
    }
    EchoServer(const EchoServer&) = delete;
    EchoServer& operator=(const EchoServer&) = delete;

    [[nodiscard]] std::string path() const { return folder_ + "/s"; }

  private:
    std::string folder_;
    std::optional<Result<rpc::Server>> server_;
};

void round_trip(benchmark::State& state) {
    const EchoServer server;
    Result<client::Connection> connection = client::Connection::open(server.path(), Millis{5'000});
    CHECK(connection.has_value());
    const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
    for (auto _ : state) {
        const Result<std::string> reply = connection->call(kEcho, payload);
        CHECK(reply.has_value());
    }
}
BENCHMARK(round_trip)->Arg(200)->Arg(64 << 10)->UseRealTime();

/// All that a command does on the wire: connect, greet, one call, close.
void command_life(benchmark::State& state) {
    const EchoServer server;
    const std::string payload(200, 'x');
    for (auto _ : state) {
        Result<client::Connection> connection =
            client::Connection::open(server.path(), Millis{5'000});
        CHECK(connection && connection->call(kEcho, payload));
    }
}
BENCHMARK(command_life)->UseRealTime();

void streamed_rows(benchmark::State& state) {
    const EchoServer server;
    Result<client::Connection> connection = client::Connection::open(server.path(), Millis{5'000});
    CHECK(connection.has_value());
    const std::string row(200, 'x');
    for (auto _ : state) {
        int rows = 0;
        CHECK(connection->call_streamed(
            kManyParts, row, [&](const std::string&) { return ++rows > 0; }));
        CHECK(rows == kParts);
    }
    state.SetItemsProcessed(state.iterations() * kParts);
}
BENCHMARK(streamed_rows)->UseRealTime();

/// Calls in flight together on one connection, as an agent or a relay sends them.
void pipelined_calls(benchmark::State& state) {
    const EchoServer server;
    std::mutex mutex;
    std::condition_variable all_done;
    int done = 0;
    Result<rpc::Client> client = rpc::Client::connect(server.path(), {}, {});
    CHECK(client.has_value());
    const int calls = static_cast<int>(state.range(0));
    for (auto _ : state) {
        done = 0;
        for (int i = 0; i < calls; ++i) {
            client->call(
                kEcho, std::string(200, 'x'), Millis{0}, [&](const Result<std::string>& reply) {
                    CHECK(reply.has_value());
                    const std::lock_guard lock(mutex);
                    if (++done == calls) all_done.notify_one();
                });
        }
        std::unique_lock lock(mutex);
        all_done.wait(lock, [&] { return done == calls; });
    }
    state.SetItemsProcessed(state.iterations() * calls);
}
BENCHMARK(pipelined_calls)->Arg(1)->Arg(16)->Arg(1000)->UseRealTime();

}  // namespace
}  // namespace twinyard

BENCHMARK_MAIN();
