#include "base/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace twinyard {
namespace {

using Reference = std::map<std::uint64_t, int>;

Reference contents(const IdMap<int>& map) {
    Reference all;
    map.for_each([&](std::uint64_t id, int value) { all[id] = value; });
    return all;
}

TEST(IdMap, AgreesWithAnOrderedMapWhileSnapshotsStayAsTheyWere) {
    std::mt19937_64 random(7);
    for (const std::uint64_t reach : {std::uint64_t{50}, std::uint64_t{5'000}, ~std::uint64_t{0}}) {
        IdMap<int> map;
        Reference want;
        std::vector<std::pair<IdMap<int>, Reference>> kept;
        for (int step = 0; step < 4'000; ++step) {
            const std::uint64_t id =
                reach == ~std::uint64_t{0} ? random() >> (random() % 64) : random() % reach;
            if (random() % 3 == 0) {
                EXPECT_EQ(map.erase(id), want.erase(id) == 1);
            } else {
                map.put(id, step);
                want[id] = step;
            }
            if (step % 500 == 0) kept.emplace_back(map, want);
        }
        EXPECT_EQ(contents(map), want);
        EXPECT_EQ(map.size(), want.size());
        for (const auto& [snapshot, then] : kept)
            EXPECT_EQ(contents(snapshot), then);
    }
}

TEST(IdMap, WalksFromAnIdAndStopsWhenTold) {
    IdMap<int> map;
    for (int i = 0; i < 10'000; i += 7)
        map.put(static_cast<std::uint64_t>(i), i);
    std::vector<std::uint64_t> seen;
    map.for_each_from(4'097, [&](std::uint64_t id, int) {
        seen.push_back(id);
        return seen.size() < 3;
    });
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{4'102, 4'109, 4'116}));
}

TEST(IdMap, LetsGoOfValues) {
    const auto value = std::make_shared<const int>(1);
    IdMap<std::shared_ptr<const int>> map;
    map.put(3, value);
    map.put(1'000'000, value);
    {
        const auto copy = map;
        map.erase(3);
        map.erase(1'000'000);
        EXPECT_EQ(value.use_count(), 3);
    }
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_TRUE(map.empty());
}

TEST(IdMap, SnapshotIsReadOnAnotherThreadWhileTheOwnerWrites) {
    IdMap<int> map;
    for (std::uint64_t id = 0; id < 2'000; ++id)
        map.put(id, 1);
    for (int round = 0; round < 50; ++round) {
        std::thread reader([snapshot = map] {
            long sum = 0;
            snapshot.for_each([&](std::uint64_t, int value) { sum += value; });
            EXPECT_EQ(sum, 2'000);
        });
        for (std::uint64_t id = 0; id < 2'000; id += 13)
            map.put(id, 2);
        for (std::uint64_t id = 0; id < 2'000; id += 13)
            map.put(id, 1);
        reader.join();
    }
}

}  // namespace
}  // namespace twinyard
