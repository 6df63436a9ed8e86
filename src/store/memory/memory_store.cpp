#include "store/memory/memory_store.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace twinyard::store {
namespace {

/// What a transaction writes: its operations and, for a batch, meta/batch.
const std::vector<Op>& ops_of(const std::optional<Batch>& batch, const SideWrite& write) {
    return batch ? batch->ops : write.ops;
}

}  // namespace

Status MemoryStore::submit(Batch batch, Completion done) {
    TRY_STATUS(prepare(batch.ops, limits()));
    {
        const std::lock_guard lock(disk_.mutex_);
        CHECK(batches_in_flight_ < kBatchesInFlightMax);
        ++batches_in_flight_;
    }
    enqueue({.batch = std::move(batch), .write = {}, .surplus = false, .done = std::move(done)});
    return {};
}

Status MemoryStore::submit(SideWrite write, Completion done) {
    TRY_STATUS(prepare(write.ops, limits()));
    bool surplus = false;
    {
        const std::lock_guard lock(disk_.mutex_);
        surplus = ++side_writes_in_flight_ > kSideWritesInFlightMax;
    }
    enqueue({std::nullopt, std::move(write), surplus, std::move(done)});
    return {};
}

void MemoryStore::enqueue(Item item) {
    {
        const std::lock_guard lock(disk_.mutex_);
        queue_.push_back(std::move(item));
        if (mode_ == Mode::Pumped || pumping_) return;
        pumping_ = true;
    }
    while (commit_next()) {
    }
}

void MemoryStore::set_mode(Mode mode) {
    {
        const std::lock_guard lock(disk_.mutex_);
        mode_ = mode;
    }
    if (mode == Mode::Immediate) pump();
}

std::size_t MemoryStore::pump(std::size_t count) {
    std::size_t taken = 0;
    while (taken < count && commit_next())
        ++taken;
    return taken;
}

bool MemoryStore::commit_next() {
    std::unique_lock lock(disk_.mutex_);
    if (dead_ || queue_.empty()) {
        pumping_ = false;
        return false;
    }
    const Item item = std::move(queue_.front());
    queue_.pop_front();
    const std::optional<Reply> reply = commit(item);
    if (!reply) {
        dead_ = true;
        pumping_ = false;
        return false;
    }
    if (item.batch) guard_.settled(item.batch->seq, reply->outcome);
    --(item.batch ? batches_in_flight_ : side_writes_in_flight_);
    lock.unlock();  // The completion may submit.
    item.done(*reply);
    return true;
}

/// Nothing: the handle died.
std::optional<Reply> MemoryStore::commit(const Item& item) {
    if (item.surplus) return Reply{Outcome::Refused, "store: too many side writes wait"};
    if (std::optional<Reply> answer = guard_answer(item)) return answer;
    return commit_with(take_fault(), item);
}

std::optional<Reply> MemoryStore::commit_with(Fault fault, const Item& item) {
    switch (fault) {
        case Fault::None:
            write(item);
            return Reply{};
        case Fault::Refuse:
            return Reply{Outcome::Refused, "store: " + disk_.faults.refusal};
        case Fault::AnswerLost:
            write(item);
            [[fallthrough]];
        case Fault::RequestLost:
            return Reply{Outcome::Unknown, "store: no answer"};
        case Fault::DieAfterCommit:
            write(item);
            return std::nullopt;
        case Fault::DieBeforeCommit:
            return std::nullopt;
        case Fault::Tear: {
            const std::vector<Op>& ops = ops_of(item.batch, item.write);
            write_ops(ops, (ops.size() + 1) / 2);
            return std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<Reply> MemoryStore::guard_answer(const Item& item) const {
    if (!item.batch) return Guard::answer(item.write, owned());
    const std::optional<Reply> answer = guard_.answer(*item.batch, owned());
    if (!answer || !disk_.faults.ignore_batch_guard) return answer;
    const bool order_only =
        answer->outcome == Outcome::Refused || answer->outcome == Outcome::GuardFailed;
    return order_only ? std::nullopt : answer;
}

void MemoryStore::write(const Item& item) {
    const std::vector<Op>& ops = ops_of(item.batch, item.write);
    write_ops(ops, ops.size());
    if (item.batch) {
        disk_.contents_.insert_or_assign(std::string(kBatchKey), encode_mark(item.batch->mark()));
    }
}

void MemoryStore::write_ops(const std::vector<Op>& ops, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (ops[i].kind == Op::Put) {
            disk_.contents_.insert_or_assign(ops[i].key, ops[i].value);
        } else {
            disk_.contents_.erase(ops[i].key);
        }
    }
}

Fault MemoryStore::take_fault() {
    if (disk_.faults.next.empty()) return disk_.faults.otherwise;
    const Fault fault = disk_.faults.next.front();
    disk_.faults.next.pop_front();
    return fault;
}

/// Only this engine writes the two keys, so what cannot be read back is a bug.
Owned MemoryStore::owned() const {
    Owned owned;
    if (const auto it = disk_.contents_.find(kBatchKey); it != disk_.contents_.end()) {
        const Result<BatchMark> mark = decode_mark(it->second);
        CHECK(mark.has_value());
        owned.last = *mark;
    }
    if (const auto it = disk_.contents_.find(kTermKey); it != disk_.contents_.end()) {
        const Result<std::uint64_t> term = decode_term(it->second);
        CHECK(term.has_value());
        owned.term = *term;
    }
    return owned;
}

Status MemoryStore::readable() {
    if (dead_) return fail(ErrorCode::Unavailable, "store: died");
    if (disk_.faults.reads_to_refuse == 0) return {};
    --disk_.faults.reads_to_refuse;
    return fail(ErrorCode::Unavailable, "store: read refused");
}

Result<std::optional<std::string>> MemoryStore::get(std::string_view key) {
    const std::lock_guard lock(disk_.mutex_);
    TRY_STATUS(readable());
    const auto it = disk_.contents_.find(key);
    if (it == disk_.contents_.end()) return std::nullopt;
    return it->second;
}

Status MemoryStore::scan(std::string_view prefix, const ScanCallback& callback) {
    const std::lock_guard lock(disk_.mutex_);
    TRY_STATUS(readable());
    for (auto it = disk_.contents_.lower_bound(prefix);
         it != disk_.contents_.end() && it->first.starts_with(prefix);
         ++it) {
        TRY_STATUS(callback(it->first, it->second));
    }
    return {};
}

Result<std::uint64_t> MemoryStore::acquire_term() {
    const std::lock_guard lock(disk_.mutex_);
    TRY_STATUS(readable());
    const std::uint64_t term = owned().term + 1;
    disk_.contents_.insert_or_assign(std::string(kTermKey), encode_term(term));
    return term;
}

std::size_t MemoryStore::waiting() const {
    const std::lock_guard lock(disk_.mutex_);
    return queue_.size();
}

bool MemoryStore::dead() const {
    const std::lock_guard lock(disk_.mutex_);
    return dead_;
}

}  // namespace twinyard::store
