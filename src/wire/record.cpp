#include "wire/record.h"

#include <charconv>
#include <cstdio>

#include "wire/agent_fields.h"

namespace twinyard::wire {
namespace {

struct StoredRequest {
    model::WorkloadId workload;
    model::JobId job;
    ClusterTime at{};
};
struct StoredStatus {
    model::JobId job;
    model::Revision revision = 0;
    model::WorkloadStatus status;
};

}  // namespace

WIRE_MESSAGE(StoredRequest, WIRE_FIELD(1, workload), WIRE_FIELD(2, job), WIRE_FIELD(3, at));
WIRE_MESSAGE(StoredStatus, WIRE_FIELD(1, job), WIRE_FIELD(2, revision), WIRE_FIELD(3, status));

namespace {

// First byte of a record under b/: the bytes follow, or they lie in chunks.
constexpr char kInline = 'i';
constexpr char kChunked = 'c';

std::string hex_key(std::string_view kind, std::uint64_t id, int digits) {
    std::string key(kind);
    char number[20];
    std::snprintf(number, sizeof number, "%0*llx", digits, static_cast<unsigned long long>(id));
    return key + number;
}

std::string workload_key(model::WorkloadId id, char part) {
    std::string key = hex_key("w/", id.value(), 16);
    key += '/';
    key += part;
    return key;
}

std::string node_key(model::NodeId id) {
    return hex_key("n/", id.value(), 8);
}
std::string outbox_key(std::uint64_t seq) {
    return hex_key("o/", seq, 16);
}
std::string request_key(const api::RequestId& id) {
    return "r/" + to_hex(ContentHash{id});
}

template <class T>
std::string bytes_of(const T& value) {
    std::string out;
    put_message(value, out);
    return out;
}

struct Appender {
    std::vector<KeyValue>& out;

    void operator()(const api::PutSpec& m) const {
        out.push_back({workload_key(m.id, 's'), bytes_of(*m.spec)});
    }
    void operator()(const api::PutStatus& m) const {
        const model::Workload& w = *m.workload;
        out.push_back(
            {workload_key(w.id, 'u'), bytes_of(StoredStatus{w.job, w.revision, w.status})});
    }
    void operator()(const api::PutPlacement& m) const {
        auto& entry = out.emplace_back(KeyValue{workload_key(m.id, 'p'), std::nullopt});
        if (m.placement) entry.value = bytes_of(*m.placement);
    }
    void operator()(const api::DropWorkload& m) const {
        for (const char part : {'p', 's', 'u'})
            out.push_back({workload_key(m.id, part), std::nullopt});
    }
    void operator()(const api::PutNode& m) const {
        out.push_back({node_key(m.node->id), bytes_of(*m.node)});
    }
    void operator()(const api::DropNode& m) const { out.push_back({node_key(m.id), std::nullopt}); }
    void operator()(const api::PutBlob& m) const {
        out.push_back({blob_key(m.hash), kInline + m.bytes});
    }
    void operator()(const api::DropBlob& m) const {
        out.push_back({blob_key(m.hash), std::nullopt});
    }
    void operator()(const api::PutOutbox& m) const {
        out.push_back({outbox_key(m.record.outbox_seq), bytes_of(m.record)});
    }
    void operator()(const api::DropOutbox& m) const {
        out.push_back({outbox_key(m.seq), std::nullopt});
    }
    void operator()(const api::PutRequest& m) const {
        out.push_back({request_key(m.id), bytes_of(StoredRequest{m.workload, m.job, m.at})});
    }
    void operator()(const api::DropRequest& m) const {
        out.push_back({request_key(m.id), std::nullopt});
    }
    void operator()(const api::PutCounters& m) const { out.push_back({"c", bytes_of(m.counters)}); }
};

template <class Number>
std::optional<Number> parse_hex(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Bytes16> parse_bytes16(std::string_view hex) {
    Bytes16 bytes{};
    if (hex.size() != 2 * bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = parse_hex<std::uint8_t>(hex.substr(2 * i, 2));
        if (!byte) return std::nullopt;
        bytes[i] = *byte;
    }
    return bytes;
}

using Read = Result<std::optional<api::Mutation>>;

std::unexpected<Error> bad_key(std::string_view key) {
    return fail(ErrorCode::Corrupt, "record key '" + std::string(key) + "' is malformed");
}

Read read_workload(std::string_view key, std::string_view value) {
    if (key.size() != 20 || key[18] != '/') return bad_key(key);
    const auto number = parse_hex<std::uint64_t>(key.substr(2, 16));
    if (!number) return bad_key(key);
    const model::WorkloadId id(*number);
    if (key[19] == 's') {
        TRY(model::WorkloadSpec spec, decode<model::WorkloadSpec>(value));
        return api::PutSpec{id, std::make_shared<const model::WorkloadSpec>(std::move(spec))};
    }
    if (key[19] == 'p') {
        TRY(model::Placement placement, decode<model::Placement>(value));
        return api::PutPlacement{id,
                                 std::make_shared<const model::Placement>(std::move(placement))};
    }
    if (key[19] != 'u') return bad_key(key);
    TRY(StoredStatus stored, decode<StoredStatus>(value));
    model::Workload workload{.id = id,
                             .job = stored.job,
                             .revision = stored.revision,
                             .spec = {},
                             .placement = {},
                             .status = std::move(stored.status)};
    return api::PutStatus{std::make_shared<const model::Workload>(std::move(workload))};
}

Read read_blob(std::string_view key, std::string_view value) {
    const auto hash = blob_of_key(key);
    if (!hash) return bad_key(key);
    const auto bytes = inline_blob(value);
    return api::PutBlob{*hash, bytes ? std::string(*bytes) : std::string()};
}

}  // namespace

void append_record(const api::Mutation& mutation, std::vector<KeyValue>& out) {
    std::visit(Appender{out}, mutation);
}

Result<std::optional<api::Mutation>> read_record(std::string_view key, std::string_view value) {
    if (key == "c") {
        TRY(api::Counters counters, decode<api::Counters>(value));
        return api::PutCounters{std::move(counters)};
    }
    if (key.starts_with("w/")) return read_workload(key, value);
    if (key.starts_with("n/")) {
        TRY(model::Node node, decode<model::Node>(value));
        if (node_key(node.id) != key) return bad_key(key);
        return api::PutNode{std::make_shared<const model::Node>(std::move(node))};
    }
    if (key.starts_with("b/")) return read_blob(key, value);
    if (key.starts_with("o/")) {
        TRY(api::AccountingRecord record, decode<api::AccountingRecord>(value));
        return api::PutOutbox{std::move(record)};
    }
    if (key.starts_with("r/")) {
        const auto id = parse_bytes16(key.substr(2));
        if (!id) return bad_key(key);
        TRY(const StoredRequest stored, decode<StoredRequest>(value));
        return api::PutRequest{*id, stored.workload, stored.job, stored.at};
    }
    return std::nullopt;
}

std::string blob_key(const ContentHash& hash) {
    return "b/" + to_hex(hash);
}
std::string blob_chunk_prefix(const ContentHash& hash) {
    return "bc/" + to_hex(hash) + "/";
}

std::vector<KeyValue> chunked_blob(const ContentHash& hash, std::string_view bytes) {
    std::vector<KeyValue> out;
    for (std::size_t at = 0, chunk = 0; at < bytes.size(); at += kBlobChunk, ++chunk) {
        out.push_back({hex_key(blob_chunk_prefix(hash), chunk, 4),
                       std::string(bytes.substr(at, kBlobChunk))});
    }
    out.push_back({blob_key(hash), std::string(1, kChunked)});
    return out;
}

std::optional<std::string_view> inline_blob(std::string_view value) {
    if (value.empty() || value.front() != kInline) return std::nullopt;
    return value.substr(1);
}

std::optional<ContentHash> blob_of_key(std::string_view key) {
    const std::size_t start = key.find('/');
    if (start == std::string_view::npos) return std::nullopt;
    const auto bytes = parse_bytes16(key.substr(start + 1, 32));
    if (!bytes) return std::nullopt;
    return ContentHash{*bytes};
}

}  // namespace twinyard::wire
