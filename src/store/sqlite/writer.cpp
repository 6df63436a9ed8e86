#include "store/sqlite/writer.h"

#include <sqlite3.h>

#include <utility>

namespace twinyard::store {
namespace {

/// Errors of COMMIT after which the last frame of the transaction is surely not in the log. After
/// all others (a failed write or sync) it may be, and a later recovery of the log would bring it
/// back.
bool surely_not_in(int code) {
    const int primary = code & 0xff;
    return primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_READONLY;
}

/// A connection that met these is as good as new once there is space, or the lock is free.
bool survives(int code) {
    const int primary = code & 0xff;
    return primary == SQLITE_FULL || primary == SQLITE_BUSY;
}

}  // namespace

Status Writer::open() {
    const std::lock_guard lock(mutex_);
    if (const Sql<void> looked = look_again(); !looked) return fail(looked.error().as_error());
    return {};
}

std::vector<Reply> Writer::commit(std::span<const Transaction> group) {
    const std::lock_guard lock(mutex_);
    if (in_doubt_) resolve_doubt();
    if (in_doubt_) {
        return answer_failed(group, true, {SQLITE_IOERR, "not usable since a failed commit"});
    }
    Sql<std::vector<Reply>> replies = try_commit(group);
    if (replies) return *std::move(replies);
    end_failed(replies.error());
    const bool was_in_doubt = in_doubt_;
    if (in_doubt_) resolve_doubt();
    return answer_failed(group, was_in_doubt, replies.error());
}

Sql<std::vector<Reply>> Writer::try_commit(std::span<const Transaction> group) {
    TRY_STATUS(begin());
    // Tried on copies: only a commit that succeeds may change what we believe.
    Guard guard = guard_;
    Owned owned = owned_;
    std::vector<Reply> replies;
    for (const Transaction& transaction : group) {
        TRY(Reply reply, apply(transaction, guard, owned));
        replies.push_back(std::move(reply));
    }
    const bool sequence_moved = owned.last != owned_.last;
    if (sequence_moved) TRY_STATUS(connection_->put(kBatchKey, encode_mark(owned.last)));
    if (const Sql<void> committed = commit_or_doubt(); !committed) {
        for (std::uint64_t seq = owned_.last.seq + 1; in_doubt_ && seq <= owned.last.seq; ++seq) {
            guard_.settled(seq, Outcome::Unknown);
        }
        return std::unexpected(committed.error());
    }
    guard_ = guard;
    owned_ = owned;
    return replies;
}

Sql<Reply> Writer::apply(const Transaction& transaction, Guard& guard, Owned& owned) {
    const std::optional<Batch>& batch = transaction.batch;
    std::optional<Reply> answer =
        batch ? guard.answer(*batch, owned) : Guard::answer(transaction.side, owned);
    if (!answer) {
        TRY_STATUS(write_ops(transaction.ops()));
        if (batch) owned.last = batch->mark();
        answer = Reply{};
    }
    if (batch) guard.settled(batch->seq, answer->outcome);
    return *std::move(answer);
}

Sql<void> Writer::write_ops(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
        if (op.kind == Op::Put) {
            TRY_STATUS(connection_->put(op.key, op.value));
        } else {
            TRY_STATUS(connection_->erase(op.key));
        }
    }
    return {};
}

Sql<void> Writer::commit_or_doubt() {
    Sql<void> committed = connection_->commit();
    in_doubt_ = !committed && !surely_not_in(committed.error().code);
    return committed;
}

Sql<void> Writer::begin() {
    if (connection_ == nullptr) {
        TRY(connection_, Connection::open(options_));
    }
    TRY_STATUS(connection_->begin());
    TRY(owned_, read_owned());
    return {};
}

Sql<Owned> Writer::read_owned() {
    Owned owned;
    TRY(const std::optional<std::string> mark, connection_->get(kBatchKey));
    if (mark) {
        const Result<BatchMark> decoded = decode_mark(*mark);
        if (!decoded) return std::unexpected(SqlError{SQLITE_CORRUPT, decoded.error().message()});
        owned.last = *decoded;
    }
    TRY(const std::optional<std::string> term, connection_->get(kTermKey));
    if (term) {
        const Result<std::uint64_t> decoded = decode_term(*term);
        if (!decoded) return std::unexpected(SqlError{SQLITE_CORRUPT, decoded.error().message()});
        owned.term = *decoded;
    }
    return owned;
}

/// Ends the transaction; what the error may have broken is opened again before the next one.
void Writer::end_failed(const SqlError& error) {
    if (connection_ == nullptr) return;
    connection_->rollback();
    if (!survives(error.code)) connection_.reset();
}

/// With every connection closed, the next one reads the log from the file: what is in, is in.
/// Moving it into the database file then makes it durable for sure, which the failed sync of the
/// log left open (a kernel forgets the pages that it could not write).
void Writer::resolve_doubt() {
    alone_([this] {
        connection_.reset();
        const Sql<void> looked = look_again();
        can_read_ = looked.has_value();
        if (!can_read_) return;
        in_doubt_ = !connection_->checkpoint(Connection::Checkpoint::Truncate).has_value();
    });
}

Sql<void> Writer::look_again() {
    TRY(connection_, Connection::open(options_));
    TRY(owned_, read_owned());
    return {};
}

std::vector<Reply> Writer::answer_failed(std::span<const Transaction> group,
                                         bool was_in_doubt,
                                         const SqlError& error) {
    std::vector<Reply> replies;
    for (const Transaction& transaction : group) {
        if (transaction.batch) {
            replies.push_back(answer_failed_batch(*transaction.batch, error));
            guard_.settled(transaction.batch->seq, replies.back().outcome);
            continue;
        }
        const Outcome outcome = was_in_doubt ? Outcome::Unknown : Outcome::Refused;
        replies.push_back(Guard::answer(transaction.side, owned_)
                              .value_or(Reply{outcome, "store: " + error.text}));
    }
    return replies;
}

Reply Writer::answer_failed_batch(const Batch& batch, const SqlError& error) {
    if (in_doubt_ && !can_read_) return {Outcome::Unknown, "store: " + error.text};
    const std::optional<Reply> answer = guard_.answer(batch, owned_);
    if (!answer) return {Outcome::Refused, "store: " + error.text};
    if (in_doubt_ && answer->outcome == Outcome::Durable) {
        return {Outcome::Unknown, "store: " + error.text};
    }
    return *answer;
}

Result<std::uint64_t> Writer::acquire_term() {
    const std::lock_guard lock(mutex_);
    if (in_doubt_) resolve_doubt();
    if (in_doubt_) return fail(ErrorCode::Unavailable, "store: not usable since a failed commit");
    const Sql<std::uint64_t> term = raise_term();
    if (!term) {
        end_failed(term.error());
        return fail(term.error().as_error());
    }
    guard_ = Guard{};
    owned_.term = *term;
    return *term;
}

Sql<std::uint64_t> Writer::raise_term() {
    TRY_STATUS(begin());
    const std::uint64_t term = owned_.term + 1;
    TRY_STATUS(connection_->put(kTermKey, encode_term(term)));
    TRY_STATUS(commit_or_doubt());
    return term;
}

std::size_t Writer::log_pages() {
    const std::lock_guard lock(mutex_);
    return connection_ == nullptr ? 0 : connection_->log_pages();
}

}  // namespace twinyard::store
