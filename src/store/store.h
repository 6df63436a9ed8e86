#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard::store {

/// Keys that the engines keep themselves; no operation of a caller may name them.
inline constexpr std::string_view kBatchKey = "meta/batch";
inline constexpr std::string_view kTermKey = "meta/term";

/// Batches that may be submitted and not yet answered. One more is a bug of the caller (CHECK).
inline constexpr std::size_t kBatchesInFlightMax = 4;
/// Side writes that may wait at once; one more is answered Refused, as workers do not know of each
/// other.
inline constexpr std::size_t kSideWritesInFlightMax = 16;
inline constexpr std::size_t kKeyBytesMax = 1024;

/// One change of one key. Keys are byte strings in the order of their (unsigned) bytes.
struct Op {
    enum Kind : std::uint8_t { Put, Delete };
    Kind kind = Put;
    std::string key;
    std::string value;  ///< Empty for Delete. Deleting an absent key is no error.

    friend bool operator==(const Op&, const Op&) = default;
};

/// What meta/batch says: the last batch that is in. All zero before the first one.
struct BatchMark {
    std::uint64_t seq = 0;
    std::uint64_t term = 0;
    std::uint64_t last_revision = 0;

    friend bool operator==(const BatchMark&, const BatchMark&) = default;
};

/// One transaction of the sequence 1, 2, 3 … It commits only where meta/batch.seq == seq - 1 and
/// meta/term == term, and writes meta/batch with its operations. Of several operations on one key
/// the last one wins.
struct Batch {
    std::uint64_t seq = 0;
    std::uint64_t term = 0;
    std::uint64_t last_revision = 0;
    std::vector<Op> ops;

    [[nodiscard]] BatchMark mark() const { return {seq, term, last_revision}; }
};

/// One transaction beside the sequence (blob chunks, sweeping): guarded by meta/term only.
struct SideWrite {
    std::uint64_t term = 0;
    std::vector<Op> ops;
};

/// What one transaction may hold, counted over its operations as submitted (keys + values).
struct Limits {
    std::size_t ops_max = 100;
    std::size_t bytes_max = std::size_t{1} << 20;
};

enum class Outcome : std::uint8_t {
    Durable,   ///< In, and no power cut takes it back. So are all batches before it.
    Refused,   ///< Not in (disk full, read-only …). Submit the same batch again.
    Unknown,   ///< In or not in. Submit the same batch again: one that is in is answered Durable.
    TermLost,  ///< Another term owns the store; nothing was written. The process must end.
    GuardFailed,  ///< meta/batch is not seq - 1: a bug of the caller. Nothing was written.
};

[[nodiscard]] std::string_view to_string(Outcome outcome);

struct Reply {
    Outcome outcome = Outcome::Durable;
    std::string message;  ///< For people; empty when durable.
};

/// Called exactly once for each accepted submit(), on the store's own thread; it must not block.
/// A completion may call submit(). (A memory store that died by its script calls nothing any more.)
using Completion = std::function<void(Reply)>;

/// Takes one key and its value, valid during the call. An error ends the scan and is passed on.
using ScanCallback = std::function<Status(std::string_view key, std::string_view value)>;

/// The port for durable state: ordered keys, guarded atomic transactions. It moves bytes and knows
/// nothing of records.
///
/// Order: transactions are committed and answered in the order of submit(). After a batch n was
/// answered Refused or Unknown, every later batch is answered Refused (Unknown, if it may have gone
/// in with n) until n itself was submitted again and is Durable. So the caller's answer to both
/// outcomes is one: keep the batches from n on and submit them again in order, unchanged.
///
/// Threads: submit(Batch) from one thread, everything else from any.
class Store {
  public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    [[nodiscard]] virtual Limits limits() const { return {}; }

    /// Never blocks. InvalidArgument (over a limit, a reserved, empty or too long key): nothing was
    /// accepted and `done` is not called.
    [[nodiscard]] virtual Status submit(Batch batch, Completion done) = 0;
    [[nodiscard]] virtual Status submit(SideWrite write, Completion done) = 0;

    /// Blocking, like all below; for start and for workers. Reads see what is durable.
    [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) = 0;

    /// All keys that begin with `prefix`, in order, from one moment. The callback must not call the
    /// store.
    [[nodiscard]] virtual Status scan(std::string_view prefix, const ScanCallback& callback) = 0;

    /// Makes this handle the owner: raises meta/term durably and returns it. Older terms are lost.
    [[nodiscard]] virtual Result<std::uint64_t> acquire_term() = 0;

    /// What meta/batch says now. After Unknown an engine over a network may still change it.
    [[nodiscard]] Result<BatchMark> last_batch();
};

/// The values of meta/batch and meta/term: fixed width, big end first. Corrupt if the size is
/// wrong.
[[nodiscard]] std::string encode_mark(const BatchMark& mark);
[[nodiscard]] Result<BatchMark> decode_mark(std::string_view bytes);
[[nodiscard]] std::string encode_term(std::uint64_t term);
[[nodiscard]] Result<std::uint64_t> decode_term(std::string_view bytes);

}  // namespace twinyard::store
