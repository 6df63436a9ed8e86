#include "store/sqlite/checkpointer.h"

#include <utility>

namespace twinyard::store {

Checkpointer::Checkpointer(Connection::Options options, Thresholds thresholds)
    : options_(std::move(options)), thresholds_(thresholds), thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
    {
        const std::lock_guard lock(wake_mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void Checkpointer::log_grew(std::size_t pages) {
    if (pages < thresholds_.wanted) return;
    std::unique_lock lock(wake_mutex_);
    wanted_ = true;
    wake_.notify_all();
    if (pages < thresholds_.max) return;
    // A round that runs already may have begun before the last commit: only the next one sees it
    // all.
    wake_.wait(lock, [this] { return !wanted_ && !running_; });
}

std::unique_lock<std::mutex> Checkpointer::pause() {
    std::unique_lock lock(connection_mutex_);
    connection_.reset();
    return lock;
}

void Checkpointer::run() {
    std::unique_lock lock(wake_mutex_);
    while (true) {
        wake_.wait(lock, [this] { return wanted_ || stop_; });
        if (stop_) return;
        wanted_ = false;
        running_ = true;
        lock.unlock();
        checkpoint();
        lock.lock();
        running_ = false;
        wake_.notify_all();
    }
}

/// An error here costs log space only; the next commit meets it too and reports it.
void Checkpointer::checkpoint() {
    const std::lock_guard lock(connection_mutex_);
    if (connection_ == nullptr) {
        Sql<std::unique_ptr<Connection>> opened = Connection::open(options_);
        if (!opened) return;
        connection_ = *std::move(opened);
    }
    if (!connection_->checkpoint(Connection::Checkpoint::Passive)) connection_.reset();
}

}  // namespace twinyard::store
