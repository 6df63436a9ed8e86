#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "wire/messages.h"
#include "wire/record.h"
#include "wire/slurm_fields.h"

namespace twinyard::wire {
namespace {

/// Converts to anything: counts the members of an aggregate.
struct Anything {
    template <class T>
    operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, class... Members>
constexpr std::size_t member_count() {
    if constexpr (requires { T{Members{}..., Anything{}}; }) {
        return member_count<T, Members..., Anything>();
    } else {
        return sizeof...(Members);
    }
}

/// Puts something other than the default into every field of a message.
class Filler {
  public:
    explicit Filler(std::uint64_t seed) : random_(seed) {}

    template <class T>
    void fill(T& value, int depth = 0) {
        if constexpr (std::is_same_v<T, bool>) {
            value = (random_() & 1) != 0;
        } else if constexpr (IsId<T>::value) {
            value = T(static_cast<typename T::rep>(random_()));
        } else if constexpr (std::is_enum_v<T>) {
            value = static_cast<T>(random_() % 3);
        } else if constexpr (std::is_same_v<T, double>) {
            value = static_cast<double>(random_() % 1000) / 8;
        } else if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(random_() >> (random_() % 64));
        } else if constexpr (IsTime<T>::value) {
            value = from_varint<T>(random_() >> (random_() % 64));
        } else if constexpr (std::is_same_v<T, std::string>) {
            value.assign(random_() % 200, static_cast<char>(random_()));
        } else if constexpr (std::is_same_v<T, Bytes16>) {
            for (auto& byte : value)
                byte = static_cast<std::uint8_t>(random_());
        } else if constexpr (std::is_same_v<T, ContentHash>) {
            fill(value.bytes);
        } else if constexpr (IsA<T, std::optional>::value) {
            if (random_() % 2 == 0) fill(value.emplace(), depth);
        } else if constexpr (IsA<T, std::vector>::value) {
            for (std::size_t n = random_() % 4; n > 0; --n)
                fill(value.emplace_back(), depth + 1);
        } else if constexpr (IsA<T, std::pair>::value) {
            fill(value.first);
            fill(value.second);
        } else {
            std::apply([&](const auto&... field) { (fill(value.*field.member, depth + 1), ...); },
                       Fields<T>::list());
        }
    }

  private:
    std::mt19937_64 random_;
};

template <class T>
class EveryMessage : public testing::Test {};

using Messages = testing::Types<model::WorkloadSpec,
                                model::WorkloadStatus,
                                model::Placement,
                                model::Node,
                                api::AgentHello,
                                api::AgentOrders,
                                api::AgentReport,
                                api::LaunchOrder,
                                api::AccountingRecord,
                                api::AccountingQuery,
                                api::Counters,
                                api::JobRequest,
                                api::JobSubmitted,
                                api::JobQuery,
                                api::JobRow,
                                api::NodeRow,
                                api::PartitionRow,
                                api::CancelRequest,
                                api::TargetsAnswer,
                                api::JobActionRequest,
                                api::UpdateRequest,
                                api::ControllerInfo,
                                api::StepRequest,
                                api::StepLaunch,
                                api::StepEvent,
                                api::StepRecord>;
TYPED_TEST_SUITE(EveryMessage, Messages);

TYPED_TEST(EveryMessage, TableHasEveryMember) {
    EXPECT_EQ(member_count<TypeParam>(), std::tuple_size_v<decltype(Fields<TypeParam>::list())>);
}

TYPED_TEST(EveryMessage, ComesBackAsItWas) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        TypeParam value{};
        Filler(seed).fill(value);
        const std::string bytes = encode(value);
        const Result<TypeParam> back = decode<TypeParam>(bytes);
        ASSERT_TRUE(back.has_value()) << seed;
        EXPECT_EQ(encode(*back), bytes) << seed;
    }
}

TYPED_TEST(EveryMessage, DefaultsComeBack) {
    const Result<TypeParam> back = decode<TypeParam>(encode(TypeParam{}));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(encode(*back), encode(TypeParam{}));
}

TYPED_TEST(EveryMessage, TornAndMutatedBytesNeverCrash) {
    TypeParam value{};
    Filler(3).fill(value);
    const std::string bytes = encode(value);
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
        std::string broken = bytes.substr(0, random() % (bytes.size() + 1));
        for (int n = 0; n < 3 && !broken.empty(); ++n)
            broken[random() % broken.size()] = static_cast<char>(random());
        (void)decode<TypeParam>(broken);
    }
}

TEST(Wire, ZeroWhereTheDefaultIsNotZeroComesBackAsZero) {
    api::JobRow row;
    row.time_limit_s = 0;
    row.nodes_min = 0;
    row.requeue = false;
    const auto back = decode<api::JobRow>(encode(row));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, row);
}

TEST(Wire, UnknownFieldsAreSkipped) {
    std::string bytes = encode(api::JobSubmitted{.job = 7,
                                                 .message = "m",
                                                 .expected_start_unix_ms = {},
                                                 .expected_nodes = "",
                                                 .partition = "",
                                                 .expected_cpus = 0});
    put_bytes(99, "from a newer one", bytes);
    const auto back = decode<api::JobSubmitted>(bytes);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->job, 7u);
}

TEST(Wire, RowsOfAPartComeBackAndTornPartsAreToldApart) {
    std::string part;
    for (std::uint32_t job = 1; job <= 3; ++job)
        append_row(api::JobSubmitted{.job = job}, part);
    std::vector<std::uint32_t> jobs;
    const auto collect = [&](api::JobSubmitted row) { jobs.push_back(row.job); };
    EXPECT_TRUE(for_each_row<api::JobSubmitted>(part, collect).has_value());
    EXPECT_EQ(jobs, (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_FALSE(
        for_each_row<api::JobSubmitted>(part.substr(0, part.size() - 1), collect).has_value());
}

TEST(Wire, GarbageIsCorrupt) {
    EXPECT_EQ(decode<api::JobRow>("\xff\xff\xff").error().code(), ErrorCode::Corrupt);
    EXPECT_EQ(decode<api::AgentHello>(std::string(500, '\x0a')).error().code(), ErrorCode::Corrupt);
}

TEST(Wire, NumbersAreThoseOfTheKeptList) {
    std::string now;
    list_model_numbers(now);
    list_agent_numbers(now);
    list_slurm_numbers(now);
    const std::string path = TWINYARD_SOURCE_DIR "/src/wire/numbers.txt";
    if (std::getenv("TWINYARD_UPDATE") != nullptr) std::ofstream(path) << now;
    std::ifstream kept(path);
    std::stringstream text;
    text << kept.rdbuf();
    EXPECT_EQ(now, text.str())
        << "a number changed or a field came: run with TWINYARD_UPDATE=1 and read the difference";
}

// ---- records
// -------------------------------------------------------------------------------------------------------

api::Mutation one_of(int kind, Filler& filler) {
    model::WorkloadId id;
    filler.fill(id);
    if (kind == 0) {
        model::WorkloadSpec spec;
        filler.fill(spec);
        return api::PutSpec{id, std::make_shared<const model::WorkloadSpec>(std::move(spec))};
    }
    if (kind == 1) {
        model::Workload workload{.id = id};
        filler.fill(workload.job);
        filler.fill(workload.status);
        return api::PutStatus{std::make_shared<const model::Workload>(std::move(workload))};
    }
    if (kind == 2) {
        model::Placement placement;
        filler.fill(placement);
        return api::PutPlacement{id,
                                 std::make_shared<const model::Placement>(std::move(placement))};
    }
    if (kind == 3) {
        model::Node node;
        filler.fill(node);
        return api::PutNode{std::make_shared<const model::Node>(std::move(node))};
    }
    if (kind == 4) {
        ContentHash hash;
        filler.fill(hash);
        return api::PutBlob{hash, "bytes"};
    }
    if (kind == 5) {
        api::AccountingRecord record;
        filler.fill(record);
        return api::PutOutbox{std::move(record)};
    }
    if (kind == 6) {
        api::PutRequest request;
        filler.fill(request.id);
        filler.fill(request.workload);
        filler.fill(request.job);
        filler.fill(request.at);
        return request;
    }
    api::Counters counters;
    filler.fill(counters);
    return api::PutCounters{counters};
}

TEST(Record, WhatIsWrittenIsRead) {
    for (int kind = 0; kind < 8; ++kind) {
        Filler filler(static_cast<std::uint64_t>(kind) + 11);
        const api::Mutation mutation = one_of(kind, filler);
        std::vector<KeyValue> written;
        append_record(mutation, written);
        ASSERT_EQ(written.size(), 1u) << kind;
        const auto read = read_record(written[0].key, *written[0].value);
        ASSERT_TRUE(read.has_value() && read->has_value()) << kind;
        std::vector<KeyValue> again;
        append_record(**read, again);
        EXPECT_EQ(again[0].key, written[0].key) << kind;
        EXPECT_EQ(again[0].value, written[0].value) << kind;
    }
}

TEST(Record, OtherKeysAreNotOursAndBrokenOnesAreCorrupt) {
    EXPECT_FALSE(read_record("meta/batch", "x")->has_value());
    EXPECT_FALSE(read_record("bc/00/0000", "x")->has_value());
    for (const char* key :
         {"w/12", "w/000000000000000g/s", "w/0000000000000001/x", "b/zz", "r/1", "n/00000001"}) {
        const auto read = read_record(key, "");
        EXPECT_TRUE(!read.has_value()) << key;
    }
}

TEST(Record, LargeBlobsLieInChunks) {
    const std::string bytes(3 * kBlobChunk + 5, 'x');
    const ContentHash hash = content_hash(bytes);
    const auto parts = chunked_blob(hash, bytes);
    ASSERT_EQ(parts.size(), 5u);
    EXPECT_EQ(parts.back().key, blob_key(hash));
    EXPECT_FALSE(inline_blob(*parts.back().value).has_value());
    std::string joined;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        EXPECT_TRUE(parts[i].key.starts_with(blob_chunk_prefix(hash)));
        EXPECT_EQ(blob_of_key(parts[i].key), hash);
        joined += *parts[i].value;
    }
    EXPECT_EQ(joined, bytes);
}

}  // namespace
}  // namespace twinyard::wire
