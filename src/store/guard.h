#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace twinyard::store {

/// What the store holds when a transaction is about to commit.
struct Owned {
    BatchMark last;
    std::uint64_t term = 0;
};

/// Checks operations against the contract and folds several on one key into the last one (etcd
/// takes a key once a transaction). InvalidArgument names the first that is wrong.
[[nodiscard]] Status prepare(std::vector<Op>& ops, const Limits& limits);

/// The order rule of the contract, one for all engines. Pure; the engine's thread owns it.
class Guard {
  public:
    /// The answer to a transaction that must not be written; nothing if it may commit now.
    [[nodiscard]] std::optional<Reply> answer(const Batch& batch, const Owned& owned) const;
    [[nodiscard]] static std::optional<Reply> answer(const SideWrite& write, const Owned& owned);

    /// Must be told how each batch ended, in order.
    void settled(std::uint64_t seq, Outcome outcome);

  private:
    std::uint64_t held_seq_ = 0;  // Refused or unknown: nothing later goes in before it. 0: none.
    std::uint64_t doubt_until_ = 0;  // Unknown up to here: several may be in with one commit.
};

}  // namespace twinyard::store
