#include "controller/shell/load.h"

#include <future>
#include <set>

#include "wire/record.h"

namespace twinyard::controller {
namespace {

Status write_blocking(store::Store& store, store::SideWrite write) {
    auto answer = std::make_shared<std::promise<store::Reply>>();
    auto future = answer->get_future();
    TRY_STATUS(store.submit(std::move(write),
                            [answer](store::Reply reply) { answer->set_value(std::move(reply)); }));
    const store::Reply reply = future.get();
    if (reply.outcome == store::Outcome::Durable) return {};
    return fail(ErrorCode::Unavailable, "store: " + reply.message);
}

std::set<ContentHash> referenced_blobs(const Records& records) {
    std::set<ContentHash> used;
    for (const auto& [id, spec] : records.specs) {
        used.insert(spec->launch.script);
        used.insert(spec->launch.environment);
    }
    return used;
}

}  // namespace

Result<Records> load_records(store::Store& store) {
    Records records;
    const Status scanned =
        store.scan("", [&](std::string_view key, std::string_view value) -> Status {
            auto read = wire::read_record(key, value);
            if (!read) return fail(std::move(read).error().in("record '" + std::string(key) + "'"));
            if (!*read) return {};
            // Blobs are known by hash only: they are never resident.
            if (auto* blob = std::get_if<api::PutBlob>(&**read)) blob->bytes.clear();
            replay(**read, records);
            return {};
        });
    if (!scanned) return fail(scanned.error());
    return records;
}

Status sweep_blobs(store::Store& store, std::uint64_t term, Records& records) {
    const std::set<ContentHash> used = referenced_blobs(records);
    std::vector<store::Op> gone;
    const auto collect = [&](std::string_view key, std::string_view) -> Status {
        const auto hash = wire::blob_of_key(key);
        if (hash && !used.contains(*hash))
            gone.push_back({store::Op::Delete, std::string(key), {}});
        return {};
    };
    TRY_STATUS(store.scan("b/", collect));
    TRY_STATUS(store.scan("bc/", collect));
    std::erase_if(records.blobs, [&](const ContentHash& hash) { return !used.contains(hash); });
    const std::size_t slice = store.limits().ops_max / 2;
    for (std::size_t at = 0; at < gone.size(); at += slice) {
        const auto first = gone.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last =
            gone.begin() + static_cast<std::ptrdiff_t>(std::min(gone.size(), at + slice));
        TRY_STATUS(write_blocking(store, {.term = term, .ops = {first, last}}));
    }
    return {};
}

Status write_chunked_blob(store::Store& store, std::uint64_t term, const api::Blob& blob) {
    for (wire::KeyValue& part : wire::chunked_blob(blob.hash, blob.bytes)) {
        store::SideWrite write{.term = term, .ops = {}};
        write.ops.push_back({store::Op::Put, std::move(part.key), std::move(*part.value)});
        TRY_STATUS(write_blocking(store, std::move(write)));
    }
    return {};
}

Result<std::string> read_blob(store::Store& store, const ContentHash& hash) {
    TRY(const std::optional<std::string> found, store.get(wire::blob_key(hash)));
    if (!found) return fail(ErrorCode::NotFound, "blob " + to_hex(hash) + " is not in the store");
    if (const auto bytes = wire::inline_blob(*found)) return std::string(*bytes);
    std::string joined;
    TRY_STATUS(store.scan(wire::blob_chunk_prefix(hash),
                          [&](std::string_view, std::string_view value) -> Status {
                              joined += value;
                              return {};
                          }));
    return joined;
}

void encode_record(const api::Mutation& mutation, std::vector<RecordOp>& out) {
    std::vector<wire::KeyValue> ops;
    wire::append_record(mutation, ops);
    for (wire::KeyValue& op : ops)
        out.push_back({std::move(op.key), std::move(op.value)});
}

}  // namespace twinyard::controller
