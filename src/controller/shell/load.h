#pragma once

#include "base/result.h"
#include "controller/core/core.h"
#include "controller/core/pipeline.h"
#include "store/store.h"

namespace twinyard::controller {

/// Reads all records. Corrupt: one of them cannot be read; the message names its key. Blocking; at
/// start.
[[nodiscard]] Result<Records> load_records(store::Store& store);

/// Deletes blobs and chunks that no workload of `records` refers to (what a crash left between a
/// blob and its command), and takes them out of `records`. Blocking.
[[nodiscard]] Status sweep_blobs(store::Store& store, std::uint64_t term, Records& records);

/// Writes a blob that is too large for its command in chunks, each a transaction of its own.
/// Blocking; workers.
[[nodiscard]] Status write_chunked_blob(store::Store& store,
                                        std::uint64_t term,
                                        const api::Blob& blob);
/// A blob's bytes, wherever they lie. NotFound. Blocking; workers.
[[nodiscard]] Result<std::string> read_blob(store::Store& store, const ContentHash& hash);

/// The pipeline's encoder.
void encode_record(const api::Mutation& mutation, std::vector<RecordOp>& out);

}  // namespace twinyard::controller
