#include "agent/shell/journal_codec.h"

#include <cstdint>
#include <utility>

#include "wire/messages.h"

namespace twinyard::agent {
namespace {

enum class Kind : std::uint8_t {
    Welcomed = 1,
    Launched = 2,
    Started = 3,
    Ended = 4,
    Forgotten = 5,
    HighWater = 6,
};

constexpr std::size_t kHeadBytes = 5;

void put_number(std::uint64_t value, std::size_t bytes, std::string& out) {
    for (std::size_t i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> (8 * i));
}

std::uint64_t take_number(std::string_view& bytes, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    bytes.remove_prefix(count);
    return value;
}

/// Appends the body, gives the kind.
struct Body {
    std::string& out;

    Kind operator()(const Welcomed& fact) const {
        put_number(fact.term, 8, out);
        out += fact.cluster_id;
        return Kind::Welcomed;
    }
    Kind operator()(const Launched& fact) const {
        wire::append(fact.order, out);
        return Kind::Launched;
    }
    Kind operator()(const Started& fact) const {
        put_number(static_cast<std::uint32_t>(fact.pid), 4, out);
        put_number(fact.start_time, 8, out);
        wire::append(fact.key, out);
        return Kind::Started;
    }
    Kind operator()(const Ended& fact) const {
        wire::append(fact.run, out);
        return Kind::Ended;
    }
    Kind operator()(const Forgotten& fact) const {
        wire::append(fact.key, out);
        return Kind::Forgotten;
    }
    Kind operator()(const HighWater& fact) const {
        wire::append(fact.key, out);
        return Kind::HighWater;
    }
};

Result<JournalEntry> decode_body(Kind kind, NodeIndex node, std::string_view body) {
    switch (kind) {
        case Kind::Welcomed: {
            if (body.size() < 8) break;
            const std::uint64_t term = take_number(body, 8);
            return JournalEntry{node, Welcomed{std::string(body), term}};
        }
        case Kind::Launched: {
            TRY(api::LaunchOrder order, wire::decode<api::LaunchOrder>(body));
            return JournalEntry{node, Launched{std::move(order)}};
        }
        case Kind::Started: {
            if (body.size() < 12) break;
            const auto pid = static_cast<std::int32_t>(take_number(body, 4));
            const std::uint64_t start_time = take_number(body, 8);
            TRY(const api::LaunchKey key, wire::decode<api::LaunchKey>(body));
            return JournalEntry{node, Started{key, pid, start_time}};
        }
        case Kind::Ended: {
            TRY(api::ObservedRun run, wire::decode<api::ObservedRun>(body));
            return JournalEntry{node, Ended{std::move(run)}};
        }
        case Kind::Forgotten: {
            TRY(const api::LaunchKey key, wire::decode<api::LaunchKey>(body));
            return JournalEntry{node, Forgotten{key}};
        }
        case Kind::HighWater: {
            TRY(const api::LaunchKey key, wire::decode<api::LaunchKey>(body));
            return JournalEntry{node, HighWater{key}};
        }
    }
    return fail(ErrorCode::Corrupt, "unknown record in the agent's journal");
}

}  // namespace

std::string encode_entry(const JournalEntry& entry) {
    std::string record(1, '\0');
    put_number(entry.node, kHeadBytes - 1, record);
    record[0] = static_cast<char>(std::visit(Body{record}, entry.fact));
    return record;
}

Result<JournalEntry> decode_entry(std::string_view record) {
    if (record.size() < kHeadBytes)
        return fail(ErrorCode::Corrupt, "short record in the agent's journal");
    const auto kind = static_cast<Kind>(record[0]);
    record.remove_prefix(1);
    const auto node = static_cast<NodeIndex>(take_number(record, kHeadBytes - 1));
    return decode_body(kind, node, record);
}

}  // namespace twinyard::agent
