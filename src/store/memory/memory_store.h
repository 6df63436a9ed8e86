#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/guard.h"
#include "store/store.h"

namespace twinyard::store {

/// What happens to one transaction when its turn to commit comes. The last three end the handle, as
/// if its process had died: nothing later is written, blocking calls are Unavailable.
enum class Fault : std::uint8_t {
    None,             ///< Commits.
    Refuse,           ///< Refused, nothing written: a full disk.
    AnswerLost,       ///< Written, but answered Unknown.
    RequestLost,      ///< Not written, answered Unknown.
    DieAfterCommit,   ///< Written, then death: no answer.
    DieBeforeCommit,  ///< Not written, death: no answer.
    Tear,  ///< Half of the operations written without meta/batch, then death: what no engine
           ///< may do, for the proof that a checker would see it.
};

/// The script of what goes wrong, filled by the test or the simulator. No randomness of its own.
struct FaultScript {
    std::deque<Fault> next;         ///< One is taken for each transaction that passed its guard.
    Fault otherwise = Fault::None;  ///< When `next` is empty.
    std::string refusal = "disk full";
    std::size_t reads_to_refuse = 0;  ///< So many get, scan, acquire_term calls are Unavailable.
    bool ignore_batch_guard = false;  ///< Planted bug: commits batches whatever their order.
};

/// What outlives a crash: the durable bytes, and the script. Must outlive every MemoryStore on it.
class MemoryDisk {
  public:
    /// Not for use while another thread uses a store on this disk.
    FaultScript faults;
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& contents() const {
        return contents_;
    }

  private:
    friend class MemoryStore;
    std::mutex mutex_;
    std::map<std::string, std::string, std::less<>> contents_;
};

/// The store of tests and of the simulator. A crash is: destroy the handle, make another on the
/// same disk; what was not committed is gone and its completions are never called. Threads: any;
/// completions are called inside submit() (Immediate) or pump() (Pumped).
class MemoryStore final : public Store {
  public:
    enum class Mode : std::uint8_t { Immediate, Pumped };

    explicit MemoryStore(MemoryDisk& disk, Mode mode = Mode::Immediate)
        : disk_(disk), mode_(mode) {}

    [[nodiscard]] Status submit(Batch batch, Completion done) override;
    [[nodiscard]] Status submit(SideWrite write, Completion done) override;
    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) override;
    [[nodiscard]] Status scan(std::string_view prefix, const ScanCallback& callback) override;
    [[nodiscard]] Result<std::uint64_t> acquire_term() override;

    /// From Immediate to Pumped and back; going back pumps what waits.
    void set_mode(Mode mode);

    /// Commits up to `count` waiting transactions in order and calls their completions. Returns how
    /// many it took.
    std::size_t pump(std::size_t count = static_cast<std::size_t>(-1));

    /// Submitted and not yet pumped.
    [[nodiscard]] std::size_t waiting() const;

    /// A fault of the Die kind has come: make a new handle.
    [[nodiscard]] bool dead() const;

  private:
    struct Item {
        std::optional<Batch> batch;  // Else a side write.
        SideWrite write;
        bool surplus = false;  // One side write too many: answered Refused when its turn comes.
        Completion done;
    };

    void enqueue(Item item);
    bool commit_next();
    std::optional<Reply> commit(const Item& item);
    std::optional<Reply> commit_with(Fault fault, const Item& item);
    std::optional<Reply> guard_answer(const Item& item) const;
    void write(const Item& item);
    void write_ops(const std::vector<Op>& ops, std::size_t count);
    Fault take_fault();
    Status readable();
    Owned owned() const;

    MemoryDisk& disk_;
    Mode mode_;
    Guard guard_;
    std::deque<Item> queue_;
    std::size_t batches_in_flight_ = 0;
    std::size_t side_writes_in_flight_ = 0;
    bool pumping_ = false;  // A completion that submits must not start a second loop.
    bool dead_ = false;
};

}  // namespace twinyard::store
