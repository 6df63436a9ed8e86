#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/sqlite/folder_lock.h"
#include "store/store.h"

namespace twinyard::store {

class Checkpointer;
class Connection;
class Writer;

/// The default engine: one SQLite database in a folder that one process owns.
/// Threads: as Store says; completions are called on the store's commit thread. The destructor
/// first commits and answers what was submitted.
class SqliteStore final : public Store {
  public:
    struct Options {
        std::string folder;  ///< Must exist. Holds state.db and lock.
        std::string vfs;     ///< For tests: the name of an SQLite VFS. Empty: the default one.
        /// Pages of 4 KiB in the log: from the first on it is written back beside the commits, at
        /// the second commits wait for that.
        std::size_t log_pages_wanted = 1'000;
        std::size_t log_pages_max = 16'000;
    };

    /// Conflict if another process (named by its pid) has the folder, else Unavailable.
    [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const Options& options);
    ~SqliteStore() override;

    [[nodiscard]] Status submit(Batch batch, Completion done) override;
    [[nodiscard]] Status submit(SideWrite write, Completion done) override;
    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) override;
    [[nodiscard]] Status scan(std::string_view prefix, const ScanCallback& callback) override;
    [[nodiscard]] Result<std::uint64_t> acquire_term() override;

  private:
    struct Item;

    SqliteStore(FolderLock lock, const Options& options);
    void enqueue(Item item);
    void run();
    std::vector<Item> take_group();
    void commit(std::vector<Item> group);
    void answer(const Item& item, Reply reply);
    Result<Connection*> reader();

    FolderLock lock_;
    const std::string path_;
    const std::string vfs_;

    std::mutex reader_mutex_;
    std::unique_ptr<Connection> reader_;  // Null: opened when next needed.

    std::unique_ptr<Checkpointer> checkpointer_;
    std::unique_ptr<Writer> writer_;

    std::mutex queue_mutex_;
    std::condition_variable queue_grew_;
    std::deque<Item> queue_;
    std::size_t batches_in_flight_ = 0;
    std::size_t side_writes_in_flight_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace twinyard::store
