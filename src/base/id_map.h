#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace twinyard {

/// Ordered map from integer ids to values, whose copy is O(1) and shares all parts that neither
/// side changes later: a radix tree of 64-wide nodes, copied on write along one path (at most 11
/// nodes, 3 or 4 in practice). A copy is a snapshot: it may be read, copied and destroyed on
/// another thread while the owner goes on writing. One object itself is not to be used by two
/// threads at once. V: cheap to copy (a shared_ptr to const, a number). Ids that lie close together
/// make it dense; iteration is in order of ids.
template <class V>
class IdMap {
  public:
    IdMap() = default;
    IdMap(const IdMap& other)
        : root_(retain(other.root_)), height_(other.height_), size_(other.size_) {}
    IdMap(IdMap&& other) noexcept { swap(other); }
    IdMap& operator=(IdMap other) noexcept {
        swap(other);
        return *this;
    }
    ~IdMap() { release(root_); }

    void swap(IdMap& other) noexcept {
        std::swap(root_, other.root_);
        std::swap(height_, other.height_);
        std::swap(size_, other.size_);
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }

    /// Null if absent. The pointer holds until this object changes.
    [[nodiscard]] const V* find(std::uint64_t id) const {
        if (root_ == nullptr || !fits(id, height_)) return nullptr;
        const Node* node = root_;
        for (unsigned level = height_; level > 0; --level) {
            node = static_cast<const Inner*>(node)->children[digit(id, level)];
            if (node == nullptr) return nullptr;
        }
        const auto* leaf = static_cast<const Leaf*>(node);
        return leaf->has(digit(id, 0)) ? &leaf->values[digit(id, 0)] : nullptr;
    }

    /// Inserts or replaces.
    void put(std::uint64_t id, V value) {
        if (root_ == nullptr) root_ = new Leaf;
        while (!fits(id, height_))
            grow();
        Leaf& leaf = own_leaf(id);
        const unsigned slot = digit(id, 0);
        if (!leaf.has(slot)) {
            leaf.present |= bit(slot);
            ++size_;
        }
        leaf.values[slot] = std::move(value);
    }

    /// False if it was absent.
    bool erase(std::uint64_t id) {
        if (find(id) == nullptr) return false;
        Leaf& leaf = own_leaf(id);
        const unsigned slot = digit(id, 0);
        leaf.present &= ~bit(slot);
        leaf.values[slot] = V{};
        --size_;
        if (leaf.present == 0) prune(id);
        return true;
    }

    /// visit(id, value) in order of ids; it returns void, or bool where false ends the walk.
    template <class Visit>
    void for_each(Visit&& visit) const {
        if (root_ != nullptr) walk(root_, height_, 0, 0, visit);
    }
    /// The same, from the first id that is at least `from`.
    template <class Visit>
    void for_each_from(std::uint64_t from, Visit&& visit) const {
        if (root_ != nullptr && fits(from, height_)) walk(root_, height_, 0, from, visit);
    }

  private:
    static constexpr unsigned kBits = 6;
    static constexpr unsigned kWidth = 1U << kBits;

    struct Node {
        std::atomic<std::uint32_t> owners{1};
        bool is_leaf;
        explicit Node(bool leaf) : is_leaf(leaf) {}
    };
    struct Inner : Node {
        Inner() : Node(false) {}
        std::array<Node*, kWidth> children{};
    };
    struct Leaf : Node {
        Leaf() : Node(true) {}
        std::uint64_t present = 0;
        std::array<V, kWidth> values{};
        [[nodiscard]] bool has(unsigned slot) const { return (present & bit(slot)) != 0; }
    };

    static std::uint64_t bit(unsigned slot) { return std::uint64_t{1} << slot; }
    static unsigned digit(std::uint64_t id, unsigned level) {
        return static_cast<unsigned>(id >> (kBits * level)) & (kWidth - 1);
    }
    static bool fits(std::uint64_t id, unsigned height) {
        const unsigned used = kBits * (height + 1);
        return used >= 64 || (id >> used) == 0;
    }

    static Node* retain(Node* node) {
        if (node != nullptr) node->owners.fetch_add(1, std::memory_order_relaxed);
        return node;
    }
    static void release(Node* node) {
        if (node == nullptr || node->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        if (node->is_leaf) {
            delete static_cast<Leaf*>(node);
            return;
        }
        auto* inner = static_cast<Inner*>(node);
        for (Node* child : inner->children)
            release(child);
        delete inner;
    }

    /// Replaces *at by a node that nobody else sees. Acquire: a reader that just let go has
    /// finished reading.
    static void own(Node*& at) {
        if (at->owners.load(std::memory_order_acquire) == 1) return;
        Node* copy = nullptr;
        if (at->is_leaf) {
            auto* leaf = new Leaf;
            leaf->present = static_cast<const Leaf*>(at)->present;
            leaf->values = static_cast<const Leaf*>(at)->values;
            copy = leaf;
        } else {
            auto* inner = new Inner;
            inner->children = static_cast<const Inner*>(at)->children;
            for (Node* child : inner->children)
                retain(child);
            copy = inner;
        }
        release(at);
        at = copy;
    }

    void grow() {
        CHECK(height_ < 10);
        auto* top = new Inner;
        top->children[0] = root_;
        root_ = top;
        ++height_;
    }

    Leaf& own_leaf(std::uint64_t id) {
        Node** at = &root_;
        own(*at);
        for (unsigned level = height_; level > 0; --level) {
            Node*& child = static_cast<Inner*>(*at)->children[digit(id, level)];
            if (child == nullptr) {
                child = level == 1 ? static_cast<Node*>(new Leaf) : new Inner;
            } else {
                own(child);
            }
            at = &child;
        }
        return *static_cast<Leaf*>(*at);
    }

    /// The path to `id` is ours alone and its leaf empty: drops what holds nothing any more.
    void prune(std::uint64_t id) {
        std::array<Node**, 12> path{};
        path[height_] = &root_;
        for (unsigned level = height_; level > 0; --level) {
            path[level - 1] = &static_cast<Inner*>(*path[level])->children[digit(id, level)];
        }
        for (unsigned level = 0; level <= height_; ++level) {
            Node*& node = *path[level];
            if (level > 0) {
                for (const Node* child : static_cast<const Inner*>(node)->children) {
                    if (child != nullptr) return;
                }
            }
            release(node);
            node = nullptr;
        }
        height_ = 0;
    }

    template <class Visit>
    static bool call(Visit& visit, std::uint64_t id, const V& value) {
        if constexpr (std::is_same_v<decltype(visit(id, value)), bool>) {
            return visit(id, value);
        } else {
            visit(id, value);
            return true;
        }
    }

    template <class Visit>
    static bool walk(
        const Node* node, unsigned level, std::uint64_t base, std::uint64_t from, Visit& visit) {
        const unsigned first = base >= from ? 0 : digit(from, level);
        if (level == 0) {
            const auto* leaf = static_cast<const Leaf*>(node);
            std::uint64_t rest = leaf->present >> first << first;
            for (; rest != 0; rest &= rest - 1) {
                const auto slot = static_cast<unsigned>(std::countr_zero(rest));
                if (!call(visit, base + slot, leaf->values[slot])) return false;
            }
            return true;
        }
        const auto* inner = static_cast<const Inner*>(node);
        for (unsigned slot = first; slot < kWidth; ++slot) {
            if (inner->children[slot] == nullptr) continue;
            const std::uint64_t below = base + (std::uint64_t{slot} << (kBits * level));
            if (!walk(inner->children[slot], level - 1, below, from, visit)) return false;
        }
        return true;
    }

    Node* root_ = nullptr;
    unsigned height_ = 0;
    std::size_t size_ = 0;
};

}  // namespace twinyard
