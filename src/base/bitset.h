#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace twinyard {

/// A set of small numbers below size(), one bit each. Operations on two sets need equal sizes and
/// allocate nothing.
class Bitset {
  public:
    /// What find_first() and find_next() give when there is no more.
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    Bitset() = default;
    explicit Bitset(std::size_t size, bool value = false) { resize(size, value); }

    [[nodiscard]] std::size_t size() const { return size_; }

    /// Keeps the members below the new size; new places hold `value`.
    void resize(std::size_t size, bool value = false) {
        const std::size_t old = size_;
        words_.resize((size + kWordBits - 1) / kWordBits, value ? kAll : 0);
        size_ = size;
        if (value && size > old && old % kWordBits != 0) {
            words_[old / kWordBits] |= kAll << (old % kWordBits);
        }
        clear_tail();
    }

    [[nodiscard]] bool test(std::size_t at) const {
        CHECK(at < size_);
        return ((words_[at / kWordBits] >> (at % kWordBits)) & 1U) != 0;
    }
    void set(std::size_t at) {
        CHECK(at < size_);
        words_[at / kWordBits] |= std::uint64_t{1} << (at % kWordBits);
    }
    void reset(std::size_t at) {
        CHECK(at < size_);
        words_[at / kWordBits] &= ~(std::uint64_t{1} << (at % kWordBits));
    }
    void assign(std::size_t at, bool value) { value ? set(at) : reset(at); }
    void fill(bool value) {
        std::ranges::fill(words_, value ? kAll : 0);
        clear_tail();
    }

    [[nodiscard]] bool any() const {
        return std::ranges::any_of(words_, [](std::uint64_t word) { return word != 0; });
    }
    [[nodiscard]] bool none() const { return !any(); }
    [[nodiscard]] std::size_t count() const {
        std::size_t total = 0;
        for (const std::uint64_t word : words_)
            total += bits_of(word);
        return total;
    }

    Bitset& operator&=(const Bitset& other) {
        CHECK(size_ == other.size_);
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] &= other.words_[i];
        return *this;
    }
    Bitset& operator|=(const Bitset& other) {
        CHECK(size_ == other.size_);
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] |= other.words_[i];
        return *this;
    }
    /// Takes the other's members out.
    Bitset& and_not(const Bitset& other) {
        CHECK(size_ == other.size_);
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] &= ~other.words_[i];
        return *this;
    }
    void flip() {
        for (std::uint64_t& word : words_)
            word = ~word;
        clear_tail();
    }

    [[nodiscard]] bool intersects(const Bitset& other) const {
        CHECK(size_ == other.size_);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if ((words_[i] & other.words_[i]) != 0) return true;
        }
        return false;
    }
    [[nodiscard]] bool is_subset_of(const Bitset& other) const {
        CHECK(size_ == other.size_);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if ((words_[i] & ~other.words_[i]) != 0) return false;
        }
        return true;
    }
    /// Members that both have, without making the set of them.
    [[nodiscard]] std::size_t count_and(const Bitset& other) const {
        CHECK(size_ == other.size_);
        std::size_t total = 0;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            total += bits_of(words_[i] & other.words_[i]);
        }
        return total;
    }

    [[nodiscard]] std::size_t find_first() const { return find_from(0); }
    /// The least member above `at`.
    [[nodiscard]] std::size_t find_next(std::size_t at) const { return find_from(at + 1); }

    /// The least member that is at `from` or above it.
    [[nodiscard]] std::size_t find_from(std::size_t from) const {
        if (from >= size_) return kNone;
        std::size_t i = from / kWordBits;
        std::uint64_t word = words_[i] & (kAll << (from % kWordBits));
        while (word == 0) {
            if (++i == words_.size()) return kNone;
            word = words_[i];
        }
        return i * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
    }

    /// Calls visit(number) for each member in rising order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
                visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
            }
        }
    }

    friend bool operator==(const Bitset&, const Bitset&) = default;

  private:
    static constexpr std::size_t kWordBits = 64;
    static constexpr std::uint64_t kAll = ~std::uint64_t{0};

    static std::size_t bits_of(std::uint64_t word) {
        return static_cast<std::size_t>(std::popcount(word));
    }

    /// Bits past the end stay zero, so that count() and == may take whole words.
    void clear_tail() {
        if (size_ % kWordBits != 0) words_.back() &= ~(kAll << (size_ % kWordBits));
    }

    std::vector<std::uint64_t> words_;
    std::size_t size_ = 0;
};

[[nodiscard]] inline Bitset operator&(Bitset a, const Bitset& b) {
    a &= b;
    return a;
}
[[nodiscard]] inline Bitset operator|(Bitset a, const Bitset& b) {
    a |= b;
    return a;
}

}  // namespace twinyard
