#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace twinyard {

/// Slots of T in chunks that snapshots share. T is cheap to copy and converts to bool; T{} is an
/// empty slot (a shared_ptr<const X>). One thread owns the table; a Snapshot may be read, copied
/// and dropped by any thread meanwhile. A write copies its chunk only when a snapshot was taken
/// since that chunk was last written.
template <class T>
class CowTable {
    static constexpr std::size_t kChunkSlots = 128;
    struct Chunk {
        std::array<T, kChunkSlots> slots{};
        std::uint32_t used = 0;
        /// The owner's snapshot count when this chunk was made: lower than now means that a
        /// snapshot may hold it.
        std::uint64_t epoch = 0;
    };
    // Shared by the table and by every snapshot taken while the chunk was current.
    using ChunkPtr = std::shared_ptr<Chunk>;

    /// What table and snapshot have in common: reading.
    class Chunks {
      public:
        /// T{} for an empty slot and for one beyond the end. The reference is good until the slot
        /// is written.
        [[nodiscard]] const T& get(std::size_t slot) const {
            static const T kEmpty{};
            const std::size_t at = slot / kChunkSlots;
            if (at >= chunks_.size() || chunks_[at] == nullptr) return kEmpty;
            return chunks_[at]->slots[slot % kChunkSlots];
        }

        /// Slots in use.
        [[nodiscard]] std::size_t size() const { return size_; }
        [[nodiscard]] bool empty() const { return size_ == 0; }
        /// No slot at or above this one is in use; a multiple of the chunk size.
        [[nodiscard]] std::size_t slot_limit() const { return chunks_.size() * kChunkSlots; }

        /// Calls visit(slot, value) for each slot in use, in rising order.
        template <class Visit>
        void for_each(Visit&& visit) const {
            for (std::size_t i = 0; i < chunks_.size(); ++i) {
                if (chunks_[i] == nullptr) continue;
                for (std::size_t j = 0; j < kChunkSlots; ++j) {
                    const T& value = chunks_[i]->slots[j];
                    if (static_cast<bool>(value)) visit(i * kChunkSlots + j, value);
                }
            }
        }

      protected:
        std::vector<ChunkPtr> chunks_;
        std::size_t size_ = 0;
    };

  public:
    /// The table as it was; never changes.
    class Snapshot : public Chunks {
        friend class CowTable;
    };

    [[nodiscard]] const T& get(std::size_t slot) const { return now_.get(slot); }
    [[nodiscard]] std::size_t size() const { return now_.size(); }
    [[nodiscard]] bool empty() const { return now_.empty(); }
    [[nodiscard]] std::size_t slot_limit() const { return now_.slot_limit(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        now_.for_each(std::forward<Visit>(visit));
    }

    /// An empty value is the same as erase(slot).
    void set(std::size_t slot, T value) {
        if (!static_cast<bool>(value)) return erase(slot);
        Chunk& chunk = writable(slot / kChunkSlots);
        T& place = chunk.slots[slot % kChunkSlots];
        if (!static_cast<bool>(place)) {
            ++chunk.used;
            ++now_.size_;
        }
        place = std::move(value);
    }

    void erase(std::size_t slot) {
        if (!static_cast<bool>(get(slot))) return;
        Chunk& chunk = writable(slot / kChunkSlots);
        chunk.slots[slot % kChunkSlots] = T{};
        --now_.size_;
        if (--chunk.used == 0) now_.chunks_[slot / kChunkSlots].reset();
    }

    /// Costs a copy of the list of chunks; no value is copied.
    [[nodiscard]] Snapshot snapshot() {
        ++epoch_;
        return now_;
    }

    /// How many chunks writes have copied so far: what publishing has cost.
    [[nodiscard]] std::uint64_t chunks_copied() const { return copied_; }

  private:
    /// Whether a chunk is shared is told by epochs, not by use_count(): a count read while another
    /// thread drops its snapshot would not order that thread's last reads before our write.
    Chunk& writable(std::size_t at) {
        if (at >= now_.chunks_.size()) now_.chunks_.resize(at + 1);
        ChunkPtr& chunk = now_.chunks_[at];
        if (chunk == nullptr) {
            chunk = std::make_shared<Chunk>();
        } else if (chunk->epoch < epoch_) {
            chunk = std::make_shared<Chunk>(*chunk);
            ++copied_;
        }
        chunk->epoch = epoch_;
        return *chunk;
    }

    Snapshot now_;
    std::uint64_t epoch_ = 0;
    std::uint64_t copied_ = 0;
};

}  // namespace twinyard
