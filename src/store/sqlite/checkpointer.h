#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

#include "store/sqlite/connection.h"

namespace twinyard::store {

/// Moves the log into the database file on a connection and thread of its own, so that commits go
/// on meanwhile.
class Checkpointer {
  public:
    /// In pages of the log.
    struct Thresholds {
        std::size_t wanted = 0;  ///< From here on a checkpoint runs beside the commits.
        std::size_t max = 0;     ///< From here on commits wait for it.
    };

    Checkpointer(Connection::Options options, Thresholds thresholds);
    Checkpointer(const Checkpointer&) = delete;
    Checkpointer& operator=(const Checkpointer&) = delete;
    ~Checkpointer();

    /// Told by the commit thread how long the log is: starts a checkpoint when it is long enough.
    /// Waits for it when the log is too long: with nobody writing it reaches the end of the log,
    /// and the next commit starts the log over.
    void log_grew(std::size_t pages);

    /// Closes the connection once a running checkpoint is over; it opens again when next needed,
    /// which is not before the lock is released.
    [[nodiscard]] std::unique_lock<std::mutex> pause();

  private:
    void run();
    void checkpoint();

    const Connection::Options options_;
    const Thresholds thresholds_;
    std::mutex connection_mutex_;
    std::unique_ptr<Connection> connection_;
    std::mutex wake_mutex_;
    std::condition_variable wake_;  // Either side waits on it.
    bool wanted_ = false;
    bool running_ = false;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace twinyard::store
