#include "store/guard.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace twinyard::store {
namespace {

Status check_key(const std::string& key) {
    if (key.empty()) return fail(ErrorCode::InvalidArgument, "store: empty key");
    if (key.size() > kKeyBytesMax) {
        return fail(ErrorCode::InvalidArgument,
                    "store: key of " + std::to_string(key.size()) + " bytes");
    }
    if (key == kBatchKey || key == kTermKey) {
        return fail(ErrorCode::InvalidArgument, "store: " + key + " is the store's own key");
    }
    return {};
}

bool names_a_key_twice(const std::vector<Op>& ops) {
    std::set<std::string_view> seen;
    for (const Op& op : ops) {
        if (!seen.insert(op.key).second) return true;
    }
    return false;
}

void keep_last_of_each_key(std::vector<Op>& ops) {
    if (!names_a_key_twice(ops)) return;
    std::set<std::string> seen;
    std::vector<Op> kept;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        if (seen.insert(op->key).second) kept.push_back(std::move(*op));
    }
    std::reverse(kept.begin(), kept.end());
    ops = std::move(kept);
}

std::optional<Reply> check_term(std::uint64_t term, std::uint64_t owner) {
    if (term == owner) return std::nullopt;
    return Reply{Outcome::TermLost,
                 "store: term is " + std::to_string(owner) + ", not " + std::to_string(term)};
}

}  // namespace

Status prepare(std::vector<Op>& ops, const Limits& limits) {
    if (ops.size() > limits.ops_max) {
        return fail(ErrorCode::InvalidArgument,
                    "store: " + std::to_string(ops.size()) + " operations, at most " +
                        std::to_string(limits.ops_max));
    }
    std::size_t bytes = 0;
    for (const Op& op : ops) {
        TRY_STATUS(check_key(op.key));
        bytes += op.key.size() + op.value.size();
    }
    if (bytes > limits.bytes_max) {
        return fail(ErrorCode::InvalidArgument,
                    "store: " + std::to_string(bytes) + " bytes, at most " +
                        std::to_string(limits.bytes_max));
    }
    keep_last_of_each_key(ops);
    return {};
}

std::optional<Reply> Guard::answer(const Batch& batch, const Owned& owned) const {
    if (std::optional<Reply> lost = check_term(batch.term, owned.term)) return lost;
    if (held_seq_ != 0 && batch.seq > held_seq_) {
        return Reply{Outcome::Refused,
                     "store: follows batch " + std::to_string(held_seq_) + ", which is not in"};
    }
    const bool was_unknown =
        batch.seq != 0 && batch.seq <= doubt_until_ && batch.seq <= owned.last.seq;
    if (batch.mark() == owned.last || (was_unknown && batch.term == owned.last.term)) {
        return Reply{Outcome::Durable, ""};
    }
    if (batch.seq == owned.last.seq + 1) return std::nullopt;
    return Reply{Outcome::GuardFailed,
                 "store: batch " + std::to_string(batch.seq) + " does not follow " +
                     std::to_string(owned.last.seq)};
}

std::optional<Reply> Guard::answer(const SideWrite& write, const Owned& owned) {
    return check_term(write.term, owned.term);
}

void Guard::settled(std::uint64_t seq, Outcome outcome) {
    const bool held = outcome == Outcome::Refused || outcome == Outcome::Unknown;
    if (held && (held_seq_ == 0 || seq < held_seq_)) held_seq_ = seq;
    if (outcome == Outcome::Unknown) doubt_until_ = std::max(doubt_until_, seq);
    if (outcome == Outcome::Durable && seq >= held_seq_) held_seq_ = 0;
}

}  // namespace twinyard::store
