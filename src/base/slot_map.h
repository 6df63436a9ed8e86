#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace twinyard {

/// A place in a SlotMap and which of its tenants is meant: it finds nothing once that one was
/// erased.
struct SlotRef {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const SlotRef&, const SlotRef&) = default;
};

/// Values by id in dense slots: an index that bitsets and arrays can use, iterated in slot order. A
/// freed slot is taken by the next insert (last freed first), so the order depends on the history
/// of inserts and erases alone. Pointers to values are good until the next insert. Not thread-safe.
template <class IdT, class T>
class SlotMap {
  public:
    [[nodiscard]] std::size_t size() const { return index_.size(); }
    [[nodiscard]] bool empty() const { return index_.empty(); }
    /// One more than the highest slot ever used.
    [[nodiscard]] std::uint32_t slot_count() const {
        return static_cast<std::uint32_t>(entries_.size());
    }

    /// The id must be new.
    SlotRef insert(IdT id, T value) {
        const std::uint32_t slot = free_.empty() ? slot_count() : free_.back();
        CHECK(index_.emplace(id, slot).second);
        if (free_.empty()) {
            entries_.emplace_back();
        } else {
            free_.pop_back();
        }
        Entry& entry = entries_[slot];
        entry.id = id;
        entry.value.emplace(std::move(value));
        return {slot, entry.generation};
    }

    /// False: there was no such id.
    bool erase(IdT id) {
        const auto found = index_.find(id);
        if (found == index_.end()) return false;
        Entry& entry = entries_[found->second];
        entry.value.reset();
        entry.id = IdT{};
        ++entry.generation;
        free_.push_back(found->second);
        index_.erase(found);
        return true;
    }

    void clear() {
        entries_.clear();
        free_.clear();
        index_.clear();
    }

    [[nodiscard]] T* find(IdT id) {
        const auto found = index_.find(id);
        return found == index_.end() ? nullptr : &*entries_[found->second].value;
    }
    [[nodiscard]] const T* find(IdT id) const {
        const auto found = index_.find(id);
        return found == index_.end() ? nullptr : &*entries_[found->second].value;
    }
    [[nodiscard]] bool contains(IdT id) const { return index_.contains(id); }

    [[nodiscard]] std::optional<std::uint32_t> slot_of(IdT id) const {
        const auto found = index_.find(id);
        return found == index_.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::optional<SlotRef> ref_of(IdT id) const {
        const auto found = index_.find(id);
        if (found == index_.end()) return std::nullopt;
        return SlotRef{found->second, entries_[found->second].generation};
    }

    /// Null for a free slot and beyond slot_count().
    [[nodiscard]] T* at_slot(std::uint32_t slot) {
        return used(slot) ? &*entries_[slot].value : nullptr;
    }
    [[nodiscard]] const T* at_slot(std::uint32_t slot) const {
        return used(slot) ? &*entries_[slot].value : nullptr;
    }
    /// "None" for a free slot and beyond slot_count().
    [[nodiscard]] IdT id_at(std::uint32_t slot) const {
        return used(slot) ? entries_[slot].id : IdT{};
    }

    /// Null when the tenant that the reference was made for is gone.
    [[nodiscard]] T* resolve(SlotRef ref) {
        return is_current(ref) ? &*entries_[ref.slot].value : nullptr;
    }
    [[nodiscard]] const T* resolve(SlotRef ref) const {
        return is_current(ref) ? &*entries_[ref.slot].value : nullptr;
    }

    /// Calls visit(id, value) in slot order; visit may change values, but neither insert nor erase.
    template <class Visit>
    void for_each(Visit&& visit) {
        for (Entry& entry : entries_) {
            if (entry.value) visit(entry.id, *entry.value);
        }
    }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Entry& entry : entries_) {
            if (entry.value) visit(entry.id, *entry.value);
        }
    }

  private:
    struct Entry {
        IdT id{};
        std::uint32_t generation = 1;
        std::optional<T> value;
    };
    struct HashId {
        std::size_t operator()(IdT id) const { return std::hash<typename IdT::rep>{}(id.value()); }
    };

    [[nodiscard]] bool used(std::uint32_t slot) const {
        return slot < entries_.size() && entries_[slot].value.has_value();
    }
    [[nodiscard]] bool is_current(SlotRef ref) const {
        return used(ref.slot) && entries_[ref.slot].generation == ref.generation;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
    std::unordered_map<IdT, std::uint32_t, HashId> index_;  // Looked up, never iterated.
};

}  // namespace twinyard
