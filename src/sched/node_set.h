#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace twinyard::sched {

/// Place of a node in the index's dense table.
using NodeIndex = std::uint32_t;

/// A set of nodes as bits. All sets of one index have the same size.
class NodeSet {
  public:
    NodeSet() = default;
    explicit NodeSet(std::size_t nodes) : words_((nodes + 63) / 64) {}

    [[nodiscard]] bool has(NodeIndex at) const {
        return at / 64 < words_.size() && (words_[at / 64] >> (at % 64) & 1) != 0;
    }
    void add(NodeIndex at) { words_[at / 64] |= std::uint64_t{1} << (at % 64); }
    void remove(NodeIndex at) { words_[at / 64] &= ~(std::uint64_t{1} << (at % 64)); }

    [[nodiscard]] bool empty() const {
        for (const std::uint64_t word : words_) {
            if (word != 0) return false;
        }
        return true;
    }
    [[nodiscard]] std::uint32_t count() const {
        std::uint32_t sum = 0;
        for (const std::uint64_t word : words_)
            sum += static_cast<std::uint32_t>(std::popcount(word));
        return sum;
    }
    [[nodiscard]] bool intersects(const NodeSet& other) const {
        for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i) {
            if ((words_[i] & other.words_[i]) != 0) return true;
        }
        return false;
    }
    NodeSet& operator&=(const NodeSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
        return *this;
    }
    NodeSet& operator|=(const NodeSet& other) {
        if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
        for (std::size_t i = 0; i < other.words_.size(); ++i)
            words_[i] |= other.words_[i];
        return *this;
    }
    NodeSet& operator-=(const NodeSet& other) {
        for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
            words_[i] &= ~other.words_[i];
        return *this;
    }

    /// visit(index) in ascending order; it returns void, or bool where false ends the walk.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
                const auto at = static_cast<NodeIndex>(
                    i * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
                if constexpr (std::is_same_v<decltype(visit(at)), bool>) {
                    if (!visit(at)) return;
                } else {
                    visit(at);
                }
            }
        }
    }

    [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
    friend bool operator==(const NodeSet&, const NodeSet&) = default;

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace twinyard::sched
