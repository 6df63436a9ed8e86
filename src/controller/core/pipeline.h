#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/command.h"
#include "controller/core/core.h"
#include "model/snapshot.h"

namespace twinyard::controller {

/// One store operation of a record; no value: the key goes.
struct RecordOp {
    std::string key;
    std::optional<std::string> value;
};
/// Turns a mutation into operations; the shell's (wire/record.h), so that the core knows no
/// encoding.
using EncodeRecord = std::function<void(const api::Mutation&, std::vector<RecordOp>&)>;

/// Names who waits for a reply; 0: nobody.
using Token = std::uint64_t;

/// A batch as the store takes it.
struct SealedBatch {
    std::uint64_t seq = 0;
    std::uint64_t last_revision = 0;
    std::vector<RecordOp> ops;
};

/// What may leave once a batch is durable, in the order in which the shell must let it: snapshot,
/// changes, replies, effects.
struct Released {
    model::Snapshot snapshot;
    model::ChangeSet changes;
    std::vector<std::pair<Token, Result<api::Reply>>> replies;
    std::vector<api::Effect> effects;
    std::vector<api::AccountingRecord> outbox;  ///< For the accounting thread.
};

struct PipelineLimits {
    std::size_t ops_max = 100;
    std::size_t bytes_max = std::size_t{1} << 20;
    std::size_t in_flight_max = 4;
};

/// The life of a batch (DESIGN.md §3) without its I/O: commands are applied at once and in order,
/// their records gather in the open batch, batches go out in sequence, and replies and effects wait
/// until theirs is durable. Used by the state thread and by the simulator. One thread.
class Pipeline {
  public:
    /// `next_seq` follows the store's last batch.
    Pipeline(Core core, PipelineLimits limits, std::uint64_t next_seq, EncodeRecord encode);

    /// False while a full batch waits for the store: leave commands in their lanes.
    [[nodiscard]] bool can_take() const;
    /// Applies a command. Its reply comes with a release, also when it was refused: the refusal may
    /// rest on what is not durable yet.
    void apply(const api::Command& command, const api::Envelope& envelope, Token token);

    /// The next batch to submit: the open one if the store has nothing to do, else only a full one.
    [[nodiscard]] std::optional<SealedBatch> next_batch();
    /// Batches given out and not durable, oldest first: all of them again, after the store refused
    /// one.
    [[nodiscard]] std::vector<SealedBatch> unacknowledged() const;
    /// `seq` is durable: the oldest one given out.
    [[nodiscard]] Released on_durable(std::uint64_t seq);
    /// What waits for no batch: replies and effects of commands that changed nothing while nothing
    /// was under way.
    [[nodiscard]] std::optional<Released> take_ready();

    [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
    [[nodiscard]] bool has_open() const { return !open_.empty(); }
    [[nodiscard]] Core& core() { return core_; }
    [[nodiscard]] const Core& core() const { return core_; }

  private:
    struct Draft {
        SealedBatch batch;
        std::map<std::string, std::size_t>
            at;  ///< Key → its operation: of several the last counts.
        std::size_t bytes = 0;
        Released released;

        [[nodiscard]] bool empty() const { return batch.ops.empty() && waits_for_nothing(); }
        [[nodiscard]] bool waits_for_nothing() const {
            return released.replies.empty() && released.effects.empty() &&
                   released.changes.changes.empty();
        }
    };

    void add_ops(std::vector<RecordOp> ops);
    void seal_open();
    [[nodiscard]] static std::size_t size_of(const std::vector<RecordOp>& ops);

    Core core_;
    PipelineLimits limits_;
    std::uint64_t next_seq_;
    EncodeRecord encode_;
    Draft open_;
    std::deque<Draft> full_;         ///< Sealed, not given out.
    std::deque<Draft> in_flight_;    ///< Given out, not durable.
    std::optional<Released> early_;  ///< Planted bugs only: what left before it should.
};

}  // namespace twinyard::controller
