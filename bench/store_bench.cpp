// Durable batches a second on the SQLite engine, in a folder on the disk under test (the current
// one, or TWINYARD_BENCH_DIR): one operation and fifty a batch, one at a time and four in flight.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/sqlite/sqlite_store.h"

namespace {

using namespace twinyard::store;

constexpr std::size_t kValueBytes = 300;  // About one small record.
constexpr std::uint64_t kKeys = 100'000;

/// Counts what is in flight, and waits until it is fewer than a number.
class Flight {
  public:
    void take_off() {
        const std::lock_guard lock(mutex_);
        ++count_;
    }
    void land() {
        const std::lock_guard lock(mutex_);
        --count_;
        landed_.notify_one();
    }
    void wait_until_below(std::size_t count) {
        std::unique_lock lock(mutex_);
        landed_.wait(lock, [&] { return count_ < count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable landed_;
    std::size_t count_ = 0;
};

std::vector<Op> ops_of(std::uint64_t seq, std::uint64_t count) {
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t key = (seq * count + i) * 7'919 % kKeys;
        ops.push_back({Op::Put, "w/" + std::to_string(key), std::string(kValueBytes, 'x')});
    }
    return ops;
}

void durable_batches(benchmark::State& state) {
    const auto ops_count = static_cast<std::uint64_t>(state.range(0));
    const auto in_flight = static_cast<std::size_t>(state.range(1));
    const char* chosen = ::getenv("TWINYARD_BENCH_DIR");
    std::string folder = std::string(chosen == nullptr ? "." : chosen) + "/store_bench.XXXXXX";
    CHECK(::mkdtemp(folder.data()) != nullptr);
    {
        const auto store = SqliteStore::open({.folder = folder, .vfs = ""}).value();
        const std::uint64_t term = store->acquire_term().value();
        Flight flight;
        std::uint64_t seq = 0;
        for (auto _ : state) {
            flight.wait_until_below(in_flight);
            flight.take_off();
            ++seq;
            const auto accepted =
                store->submit(Batch{seq, term, seq, ops_of(seq, ops_count)}, [&](const Reply& r) {
                    CHECK(r.outcome == Outcome::Durable);
                    flight.land();
                });
            CHECK(accepted.has_value());
        }
        flight.wait_until_below(1);
        state.SetItemsProcessed(static_cast<std::int64_t>(seq));
    }
    std::filesystem::remove_all(folder);
}

BENCHMARK(durable_batches)
    ->ArgNames({"ops", "in_flight"})
    ->ArgsProduct({{1, 50}, {1, 4}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
