#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/command.h"
#include "base/result.h"

/// Durable records as keys and bytes. Keys sort by kind, then id:
///   c                        counters
///   n/<id>                   node
///   w/<id>/{p,s,u}           workload: placement, spec, status
///   b/<hash>  bc/<hash>/<i>  blob, or a note that it lies in chunks; chunk
///   o/<seq>                  accounting outbox
///   r/<request id>           remembered request
namespace twinyard::wire {

struct KeyValue {
    std::string key;
    std::optional<std::string> value;  ///< None: the key goes.
};

/// Appends one to three operations.
void append_record(const api::Mutation& mutation, std::vector<KeyValue>& out);

/// The mutation that wrote this record. A status comes without spec and placement. Empty for keys
/// that are not ours (meta/…) and for blobs' chunks.
[[nodiscard]] Result<std::optional<api::Mutation>> read_record(std::string_view key,
                                                               std::string_view value);

/// Larger blobs than this go in chunks, by side writes, before the command that refers to them.
inline constexpr std::size_t kInlineBlobMax = 256 * 1024;
inline constexpr std::size_t kBlobChunk = 512 * 1024;

/// Chunks first, the note that makes them a blob last.
[[nodiscard]] std::vector<KeyValue> chunked_blob(const ContentHash& hash, std::string_view bytes);
[[nodiscard]] std::string blob_key(const ContentHash& hash);
[[nodiscard]] std::string blob_chunk_prefix(const ContentHash& hash);
/// Of what lies under blob_key(): the bytes themselves, or nothing if they lie in chunks.
[[nodiscard]] std::optional<std::string_view> inline_blob(std::string_view value);
/// The hash in a `b/…` or `bc/…` key.
[[nodiscard]] std::optional<ContentHash> blob_of_key(std::string_view key);

}  // namespace twinyard::wire
