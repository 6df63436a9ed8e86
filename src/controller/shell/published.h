#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "model/plan.h"
#include "model/snapshot.h"

namespace twinyard::controller {

/// What readers see: the last durable snapshot and what the engine derived last. Any thread.
class Published {
  public:
    struct View {
        model::SnapshotPtr snapshot;
        std::shared_ptr<const model::Plan>
            plan;  ///< Verdicts and reservations; may be null and lag behind.
    };

    [[nodiscard]] View view() const {
        const std::lock_guard lock(mutex_);
        return view_;
    }
    [[nodiscard]] model::SnapshotPtr snapshot() const {
        const std::lock_guard lock(mutex_);
        return view_.snapshot;
    }
    void set(model::SnapshotPtr snapshot) {
        const std::lock_guard lock(mutex_);
        std::swap(view_.snapshot, snapshot);  // The old one is let go outside of the lock.
    }
    void set(std::shared_ptr<const model::Plan> plan) {
        const std::lock_guard lock(mutex_);
        std::swap(view_.plan, plan);
    }

  private:
    mutable std::mutex mutex_;
    View view_;
};

}  // namespace twinyard::controller
