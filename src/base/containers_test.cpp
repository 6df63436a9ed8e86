#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "base/bitset.h"
#include "base/bounded_queue.h"
#include "base/cow_table.h"
#include "base/id.h"
#include "base/slot_map.h"

namespace twinyard {
namespace {

std::vector<std::size_t> members(const Bitset& set) {
    std::vector<std::size_t> out;
    set.for_each([&](std::size_t at) { out.push_back(at); });
    return out;
}

Bitset bits(std::size_t size, std::initializer_list<std::size_t> members) {
    Bitset set(size);
    for (const std::size_t at : members)
        set.set(at);
    return set;
}

TEST(Bitset, SetOperations) {
    const Bitset a = bits(130, {0, 63, 64, 129});
    const Bitset b = bits(130, {63, 100, 129});
    EXPECT_EQ(members(a & b), (std::vector<std::size_t>{63, 129}));
    EXPECT_EQ(members(a | b), (std::vector<std::size_t>{0, 63, 64, 100, 129}));
    Bitset without = a;
    without.and_not(b);
    EXPECT_EQ(members(without), (std::vector<std::size_t>{0, 64}));
    EXPECT_EQ(a.count(), 4U);
    EXPECT_EQ(a.count_and(b), 2U);
    EXPECT_TRUE(a.intersects(b));
    EXPECT_FALSE(without.intersects(b));
    EXPECT_TRUE((a & b).is_subset_of(b));
    EXPECT_FALSE(a.is_subset_of(b));
}

TEST(Bitset, FindWalksAllMembers) {
    const Bitset set = bits(200, {5, 64, 199});
    EXPECT_EQ(set.find_first(), 5U);
    EXPECT_EQ(set.find_next(5), 64U);
    EXPECT_EQ(set.find_next(64), 199U);
    EXPECT_EQ(set.find_next(199), Bitset::kNone);
    EXPECT_EQ(set.find_from(64), 64U);
    EXPECT_EQ(Bitset(0).find_first(), Bitset::kNone);
}

TEST(Bitset, SizesThatAreNoMultipleOfAWord) {
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 128U, 129U}) {
        Bitset set(size, true);
        EXPECT_EQ(set.count(), size) << size;
        set.flip();
        EXPECT_TRUE(set.none()) << size;
        set.fill(true);
        EXPECT_EQ(set.count(), size) << size;
        set.resize(size + 70, true);
        EXPECT_EQ(set.count(), size + 70) << size;
        set.resize(size);
        set.resize(size + 70);
        EXPECT_EQ(set.count(), size) << "cut members must not come back";
    }
}

TEST(Bitset, AgreesWithAStdSet) {
    std::mt19937 random(7);
    Bitset set(300);
    std::set<std::size_t> want;
    for (int i = 0; i < 2000; ++i) {
        const std::size_t at = random() % 300;
        const bool value = random() % 2 == 0;
        set.assign(at, value);
        value ? static_cast<void>(want.insert(at)) : static_cast<void>(want.erase(at));
    }
    EXPECT_EQ(members(set), std::vector<std::size_t>(want.begin(), want.end()));
    EXPECT_EQ(set.count(), want.size());
}

using TestId = Id<struct TestTag, std::uint32_t>;

TEST(SlotMap, KeepsSlotsAndReusesThem) {
    SlotMap<TestId, std::string> map;
    const SlotRef a = map.insert(TestId{70}, "a");
    const SlotRef b = map.insert(TestId{3}, "b");
    EXPECT_EQ(a.slot, 0U);
    EXPECT_EQ(b.slot, 1U);
    EXPECT_EQ(map.slot_of(TestId{3}), 1U);
    EXPECT_TRUE(map.erase(TestId{70}));
    EXPECT_FALSE(map.erase(TestId{70}));
    EXPECT_EQ(map.resolve(a), nullptr);
    const SlotRef c = map.insert(TestId{5}, "c");
    EXPECT_EQ(c.slot, 0U);
    EXPECT_EQ(map.resolve(a), nullptr) << "an old reference must not find the new tenant";
    EXPECT_EQ(*map.resolve(c), "c");
    EXPECT_EQ(map.id_at(0), TestId{5});
    EXPECT_EQ(map.at_slot(2), nullptr);
    EXPECT_EQ(map.size(), 2U);
}

TEST(SlotMap, IteratesInSlotOrder) {
    SlotMap<TestId, int> map;
    for (const std::uint32_t id : {9U, 1U, 5U})
        map.insert(TestId{id}, static_cast<int>(id));
    map.erase(TestId{1});
    std::vector<int> seen;
    map.for_each([&](TestId, int& value) { seen.push_back(value++); });
    EXPECT_EQ(seen, (std::vector<int>{9, 5}));
    EXPECT_EQ(*map.find(TestId{9}), 10);
    EXPECT_EQ(map.find(TestId{1}), nullptr);
}

using Row = std::shared_ptr<const int>;

Row row(int value) {
    return std::make_shared<const int>(value);
}

TEST(CowTable, SnapshotsDoNotChange) {
    CowTable<Row> table;
    table.set(0, row(1));
    table.set(300, row(2));
    const auto before = table.snapshot();
    table.set(0, row(10));
    table.erase(300);
    table.set(5, row(3));
    EXPECT_EQ(*before.get(0), 1);
    EXPECT_EQ(*before.get(300), 2);
    EXPECT_EQ(before.get(5), nullptr);
    EXPECT_EQ(before.size(), 2U);
    EXPECT_EQ(*table.get(0), 10);
    EXPECT_EQ(table.get(300), nullptr);
    EXPECT_EQ(table.get(100'000), nullptr);
    EXPECT_EQ(table.size(), 2U);
}

TEST(CowTable, CopiesAChunkOnceForEachSnapshot) {
    CowTable<Row> table;
    for (std::size_t i = 0; i < 1280; ++i)
        table.set(i, row(1));
    EXPECT_EQ(table.chunks_copied(), 0U);
    const auto first = table.snapshot();
    for (std::size_t i = 0; i < 100; ++i)
        table.set(i, row(2));
    EXPECT_EQ(table.chunks_copied(), 1U);
    const auto second = table.snapshot();
    table.set(3, row(4));
    table.set(1000, row(4));
    EXPECT_EQ(table.chunks_copied(), 3U);
    EXPECT_EQ(*first.get(3), 1);
    EXPECT_EQ(*second.get(3), 2);
}

TEST(CowTable, AgreesWithAMapAndAllItsSnapshots) {
    std::mt19937 random(11);
    CowTable<Row> table;
    std::map<std::size_t, int> want;
    std::vector<std::pair<CowTable<Row>::Snapshot, std::map<std::size_t, int>>> kept;
    for (int i = 0; i < 5000; ++i) {
        const std::size_t slot = random() % 700;
        if (random() % 3 == 0) {
            table.erase(slot);
            want.erase(slot);
        } else {
            table.set(slot, row(i));
            want[slot] = i;
        }
        if (i % 250 == 0) kept.emplace_back(table.snapshot(), want);
    }
    for (const auto& [snapshot, expected] : kept) {
        std::map<std::size_t, int> seen;
        snapshot.for_each([&](std::size_t slot, const Row& value) { seen[slot] = *value; });
        EXPECT_EQ(seen, expected);
        EXPECT_EQ(snapshot.size(), expected.size());
    }
}

TEST(CowTable, ReadersRunBesideTheWriter) {
    CowTable<Row> table;
    constexpr std::size_t kSlots = 1000;
    for (std::size_t i = 0; i < kSlots; ++i)
        table.set(i, row(0));
    BoundedQueue<CowTable<Row>::Snapshot> queue({.entries = 4, .bytes = 0});
    std::atomic<int> torn = 0;
    std::thread reader([&] {
        while (const auto snapshot = queue.pop()) {
            const int first = *snapshot->get(0);
            snapshot->for_each([&](std::size_t, const Row& value) { torn += *value != first; });
        }
    });
    for (int round = 1; round <= 200; ++round) {
        for (std::size_t i = 0; i < kSlots; ++i)
            table.set(i, row(round));
        static_cast<void>(queue.try_push(table.snapshot()));
    }
    queue.close();
    reader.join();
    EXPECT_EQ(torn, 0);
}

TEST(BoundedQueue, RefusesWhenFull) {
    BoundedQueue<std::string> queue({.entries = 2, .bytes = 10});
    EXPECT_TRUE(queue.try_push("big", 100)) << "an empty queue takes one of any size";
    EXPECT_FALSE(queue.try_push("next", 1));
    EXPECT_EQ(queue.try_pop(), "big");
    EXPECT_TRUE(queue.try_push("a", 5));
    EXPECT_FALSE(queue.try_push("b", 6));
    EXPECT_TRUE(queue.try_push("c", 5));
    std::string kept = "d";
    EXPECT_FALSE(queue.try_push(std::move(kept), 0)) << "two entries are the limit";
    EXPECT_EQ(kept, "d") << "a refused value stays with the caller";
    EXPECT_EQ(queue.bytes(), 10U);
    EXPECT_EQ(queue.drain(5), (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(queue.bytes(), 0U);
}

TEST(BoundedQueue, WaitsEndAtDeadlineWakeAndClose) {
    BoundedQueue<int> queue({.entries = 2, .bytes = 10});
    EXPECT_EQ(queue.pop_until(BoundedQueue<int>::Clock::now()), std::nullopt);
    queue.wake();
    EXPECT_EQ(queue.pop(), std::nullopt) << "a wake before the wait is not lost";
    EXPECT_TRUE(queue.try_push(7));
    EXPECT_EQ(queue.pop(), 7);
    EXPECT_TRUE(queue.try_push(8));
    queue.close();
    EXPECT_FALSE(queue.try_push(9));
    EXPECT_EQ(queue.pop(), 8) << "what was taken before the end is still handed out";
    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, EveryValueOfManyProducersArrivesOnceAndInOrder) {
    BoundedQueue<std::pair<int, int>> queue({.entries = 16, .bytes = 1000});
    constexpr int kEach = 2000;
    std::vector<std::thread> producers;
    for (int p = 0; p < 3; ++p) {
        producers.emplace_back([&queue, p] {
            for (int i = 0; i < kEach; ++i) {
                while (!queue.try_push({p, i}, 1))
                    std::this_thread::yield();
            }
        });
    }
    std::vector<int> next(3, 0);
    for (int i = 0; i < 3 * kEach; ++i) {
        const auto value = queue.pop();
        ASSERT_TRUE(value);
        EXPECT_EQ(value->second, next[static_cast<std::size_t>(value->first)]++);
    }
    for (std::thread& producer : producers)
        producer.join();
    EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace twinyard
