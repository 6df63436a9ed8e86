// A client that loads a controller: kept connections with several submissions under way on each, or
// one at a time. The scripts beside it start the cluster and call it; it prints one line of
// key=value.
//
//   load_bench --socket PATH [--jobs N] [--connections N] [--outstanding N] [--shapes N] [--gpus N]
//              [--nodes N] [--hold] [--runtime S] [--script-bytes N] [--environment-bytes N]
//              [--until-running]

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "api/slurm.h"
#include "base/flags.h"
#include "base/text.h"
#include "rpc/client.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Millis kDeadline{60'000};
constexpr std::uint32_t kNumberMax = 100'000'000;
constexpr std::uint32_t kFirstTimeLimit = 600;  // Seconds; each shape has a minute more.

struct Options {
    std::string socket;
    std::uint32_t jobs = 10'000, connections = 8, outstanding = 16, shapes = 1, gpus = 0;
    std::uint32_t nodes = 1, runtime = 3600, script_bytes = 0, environment_bytes = 0;
    bool hold = false, until_running = false;
};

/// One script for all, as a user's loop over sbatch sends it.
api::JobRequest request_of(const Options& options) {
    api::JobRequest request;
    request.name = "load";
    request.uid = getuid();
    request.gid = getgid();
    request.script = "#!/bin/sh\ntrue\n";
    if (options.script_bytes > request.script.size())
        request.script.resize(options.script_bytes, '#');
    request.work_dir = "/tmp";
    request.std_out = request.std_err = "/dev/null";
    request.environment = {"PATH=/usr/bin:/bin",
                           "TWINYARD_EMULATED_RUNTIME=" + std::to_string(options.runtime)};
    if (options.environment_bytes > 0)
        request.environment.push_back("PADDING=" + std::string(options.environment_bytes, 'x'));
    request.mem_per_node_mb = 1024;
    request.nodes_min = request.nodes_max = options.nodes;
    if (options.gpus > 0) request.gpus_per_node = std::to_string(options.gpus);
    request.hold = options.hold;
    return request;
}

/// All that several threads write.
struct Tally {
    std::mutex mutex;
    std::vector<double> latencies_ms;
    std::string first_error;
    std::size_t errors = 0;

    void add(double ms, const Result<std::string>& reply) {
        const std::lock_guard lock(mutex);
        latencies_ms.push_back(ms);
        if (reply) return;
        if (errors++ == 0) first_error = reply.error().message();
    }
};

double ms_since(Clock::time_point begun) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

class Connection {
  public:
    Connection(const Options& options, std::uint64_t number)
        : options_(options), number_(number), slots_(options.outstanding) {}

    Status open() {
        auto client = rpc::Client::connect("unix:" + options_.socket, {}, {});
        if (!client) return fail(client.error());
        client_ = std::make_unique<rpc::Client>(std::move(*client));
        return {};
    }

    /// Submits until `next` has run out, then waits for all answers.
    void run(std::atomic<std::uint32_t>& next, Tally& tally) {
        for (;;) {
            const std::uint32_t job = next++;
            if (job >= options_.jobs) break;
            slots_.acquire();
            submit(job, tally);
        }
        for (std::uint32_t i = 0; i < options_.outstanding; ++i)
            slots_.acquire();
    }

    Result<std::string> ask(wire::Method method, std::string payload) {
        std::binary_semaphore answered{0};
        Result<std::string> answer = fail(ErrorCode::Unavailable, "no answer");
        client_->call(static_cast<std::uint16_t>(method),
                      std::move(payload),
                      kDeadline,
                      [&](Result<std::string> reply) {
                          answer = std::move(reply);
                          answered.release();
                      });
        answered.acquire();
        return answer;
    }

  private:
    void submit(std::uint32_t job, Tally& tally) {
        api::JobRequest request = request_of(options_);
        request.time_limit_s = kFirstTimeLimit + 60 * (job % options_.shapes);
        for (std::size_t i = 0; i < 8; ++i) {
            request.request_id[i] = static_cast<std::uint8_t>(number_ >> (8 * i));
            request.request_id[8 + i] = static_cast<std::uint8_t>(std::uint64_t{job} >> (8 * i));
        }
        const auto begun = Clock::now();
        client_->call(static_cast<std::uint16_t>(wire::Method::SubmitJob),
                      wire::encode(request),
                      kDeadline,
                      [this, begun, &tally](const Result<std::string>& reply) {
                          tally.add(ms_since(begun), reply);
                          slots_.release();
                      });
    }

    const Options& options_;
    std::uint64_t number_;
    std::counting_semaphore<> slots_;
    std::unique_ptr<rpc::Client> client_;
};

Result<std::uint64_t> running_now(Connection& connection) {
    TRY(const std::string bytes, connection.ask(wire::Method::Info, {}));
    TRY(const auto info, wire::decode<api::ControllerInfo>(bytes));
    return info.running;
}

double percentile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
    return sorted[at];
}

/// The numbers among the flags: what was written, and where it goes.
struct Words {
    std::string jobs, connections, outstanding, shapes, gpus, nodes, runtime, script, environment;

    Status read_into(Options& options) const {
        const std::pair<const std::string&, std::uint32_t&> numbers[] = {
            {jobs, options.jobs},
            {connections, options.connections},
            {outstanding, options.outstanding},
            {shapes, options.shapes},
            {gpus, options.gpus},
            {nodes, options.nodes},
            {runtime, options.runtime},
            {script, options.script_bytes},
            {environment, options.environment_bytes}};
        for (const auto& [text, value] : numbers) {
            if (text.empty()) continue;
            TRY(value, parse_number<std::uint32_t>(text, 0, kNumberMax));
        }
        return {};
    }
};

Result<Options> parse(std::span<const char* const> args) {
    Options options;
    Words words;
    TRY_STATUS(parse_flags(args,
                           {{.name = "--socket", .value = &options.socket},
                            {.name = "--hold", .given = &options.hold},
                            {.name = "--until-running", .given = &options.until_running},
                            {.name = "--jobs", .value = &words.jobs},
                            {.name = "--connections", .value = &words.connections},
                            {.name = "--outstanding", .value = &words.outstanding},
                            {.name = "--shapes", .value = &words.shapes},
                            {.name = "--gpus", .value = &words.gpus},
                            {.name = "--nodes", .value = &words.nodes},
                            {.name = "--runtime", .value = &words.runtime},
                            {.name = "--script-bytes", .value = &words.script},
                            {.name = "--environment-bytes", .value = &words.environment}}));
    TRY_STATUS(words.read_into(options));
    if (options.socket.empty()) return fail(ErrorCode::InvalidArgument, "--socket is missing");
    return options;
}

Status run(const Options& options) {
    const auto run_id = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    std::vector<std::unique_ptr<Connection>> connections;
    for (std::uint32_t i = 0; i < options.connections; ++i) {
        connections.push_back(std::make_unique<Connection>(options, run_id));
        TRY_STATUS(connections.back()->open());
        TRY(std::ignore, running_now(*connections.back()));  // Connected and greeted.
    }
    TRY(const std::uint64_t before, running_now(*connections.front()));
    Tally tally;
    std::atomic<std::uint32_t> next = 0;
    const auto begun = Clock::now();
    std::vector<std::thread> threads;
    for (auto& connection : connections)
        threads.emplace_back([&] { connection->run(next, tally); });
    for (std::thread& thread : threads)
        thread.join();
    const double submitted_ms = ms_since(begun);
    double running_ms = 0;
    while (options.until_running && tally.errors == 0) {
        TRY(const std::uint64_t running, running_now(*connections.front()));
        running_ms = ms_since(begun);
        if (running >= before + options.jobs) break;
        if (running_ms > static_cast<double>(2 * kDeadline.count()))
            return fail(ErrorCode::Unavailable,
                        "only " + std::to_string(running - before) + " run");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (tally.errors > 0)
        return fail(ErrorCode::Unavailable,
                    std::to_string(tally.errors) + " refused: " + tally.first_error);
    std::ranges::sort(tally.latencies_ms);
    std::printf("jobs=%u seconds=%.3f per_second=%.0f p50_ms=%.3f p95_ms=%.3f p99_ms=%.3f",
                options.jobs,
                submitted_ms / 1000,
                options.jobs / (submitted_ms / 1000),
                percentile(tally.latencies_ms, 0.5),
                percentile(tally.latencies_ms, 0.95),
                percentile(tally.latencies_ms, 0.99));
    if (options.until_running)
        std::printf(" running_per_second=%.0f", options.jobs / (running_ms / 1000));
    std::printf("\n");
    return {};
}

}  // namespace
}  // namespace twinyard

int main(int argc, char** argv) {
    const auto options =
        twinyard::parse(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
    const twinyard::Status done =
        options ? twinyard::run(*options) : twinyard::Status(twinyard::fail(options.error()));
    if (done) return 0;
    std::fprintf(stderr, "load_bench: %s\n", done.error().message().c_str());
    return 1;
}
