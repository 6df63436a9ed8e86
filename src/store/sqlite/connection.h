#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace twinyard::store {

/// What SQLite said: its extended result code, and text with the system's reason if there is one.
struct SqlError {
    int code = 0;
    std::string text;

    [[nodiscard]] Error as_error() const { return {ErrorCode::Unavailable, "store: " + text}; }
};

template <class T>
using Sql = std::expected<T, SqlError>;

/// One connection to the key-value table: WAL, synchronous=FULL, no checkpoints of its own accord.
/// Used by one thread at a time. A failed call leaves the connection usable for rollback() and
/// destruction.
class Connection {
  public:
    struct Options {
        std::string path;
        std::string vfs;  ///< Empty: the default one.
        int busy_timeout_ms = 0;
    };
    enum class Checkpoint : bool { Passive, Truncate };

    [[nodiscard]] static Sql<std::unique_ptr<Connection>> open(const Options& options);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    [[nodiscard]] Sql<void> begin();
    [[nodiscard]] Sql<void> commit();
    void rollback();
    [[nodiscard]] Sql<void> put(std::string_view key, std::string_view value);
    [[nodiscard]] Sql<void> erase(std::string_view key);
    [[nodiscard]] Sql<std::optional<std::string>> get(std::string_view key);
    [[nodiscard]] Status scan(std::string_view prefix, const ScanCallback& callback);

    /// Moves the log into the database file: as far as readers and writers allow (Passive), or
    /// waiting for them, all of it.
    [[nodiscard]] Sql<void> checkpoint(Checkpoint mode);

    /// Pages in the log after the last commit on this connection.
    [[nodiscard]] std::size_t log_pages() const { return log_pages_; }

  private:
    Connection() = default;
    [[nodiscard]] Sql<void> set_up(const Options& options);
    [[nodiscard]] Sql<void> prepare_all();
    [[nodiscard]] Sql<void> exec(const char* sql);
    [[nodiscard]] Sql<void> run(sqlite3_stmt* statement);
    [[nodiscard]] SqlError error(int code) const;

    sqlite3* db_ = nullptr;
    std::size_t log_pages_ = 0;
    std::vector<sqlite3_stmt*> statements_;  // By Query in the .cpp.
};

}  // namespace twinyard::store
