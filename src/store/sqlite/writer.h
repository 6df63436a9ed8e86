#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "store/guard.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace twinyard::store {

/// One transaction of either kind on its way.
struct Transaction {
    std::optional<Batch> batch;  ///< Else a side write.
    SideWrite side;

    [[nodiscard]] const std::vector<Op>& ops() const { return batch ? batch->ops : side.ops; }
};

/// The one connection that writes. Joins transactions in one SQLite commit, each with its own
/// guard, and finds out what happened when a commit fails. Threads: any, one at a time.
class Writer {
  public:
    /// Runs its argument while no other connection to the database is open in this process.
    using Alone = std::function<void(const std::function<void()>& work)>;

    Writer(Connection::Options options, Alone alone)
        : options_(std::move(options)), alone_(std::move(alone)) {}

    [[nodiscard]] Status open();
    [[nodiscard]] std::vector<Reply> commit(std::span<const Transaction> group);
    [[nodiscard]] Result<std::uint64_t> acquire_term();
    [[nodiscard]] std::size_t log_pages();

  private:
    [[nodiscard]] Sql<std::vector<Reply>> try_commit(std::span<const Transaction> group);
    [[nodiscard]] Sql<Reply> apply(const Transaction& transaction, Guard& guard, Owned& owned);
    [[nodiscard]] Sql<void> write_ops(const std::vector<Op>& ops);
    [[nodiscard]] Sql<void> commit_or_doubt();
    [[nodiscard]] Sql<std::uint64_t> raise_term();
    [[nodiscard]] Sql<void> begin();
    [[nodiscard]] Sql<Owned> read_owned();
    [[nodiscard]] Sql<void> look_again();

    void end_failed(const SqlError& error);
    void resolve_doubt();
    [[nodiscard]] std::vector<Reply> answer_failed(std::span<const Transaction> group,
                                                   bool was_in_doubt,
                                                   const SqlError& error);
    [[nodiscard]] Reply answer_failed_batch(const Batch& batch, const SqlError& error);

    const Connection::Options options_;
    const Alone alone_;
    std::mutex mutex_;
    std::unique_ptr<Connection> connection_;  // Null: opened again before the next commit.
    Guard guard_;
    Owned owned_;            // As last read or committed.
    bool in_doubt_ = false;  // A commit failed, and it may be in the log all the same.
    bool can_read_ = true;   // While in doubt: owned_ says what is visible, if not what is durable.
};

}  // namespace twinyard::store
