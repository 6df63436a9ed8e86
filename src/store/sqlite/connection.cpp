#include "store/sqlite/connection.h"

#include <sqlite3.h>

#include <array>
#include <system_error>

namespace twinyard::store {
namespace {

enum Query : std::size_t { Begin, Commit, Rollback, Put, Erase, Get, Scan, ScanToEnd };

constexpr auto kQueries = std::to_array<const char*>({
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "INSERT INTO kv (key, value) VALUES (?1, ?2) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "DELETE FROM kv WHERE key = ?1",
    "SELECT value FROM kv WHERE key = ?1",
    "SELECT key, value FROM kv WHERE key >= ?1 AND key < ?2 ORDER BY key",
    "SELECT key, value FROM kv WHERE key >= ?1 ORDER BY key",
});

constexpr const char* kSetUp =
    "PRAGMA synchronous = FULL;"
    "PRAGMA journal_size_limit = 16777216;"  // A log that grew in a storm shrinks when it starts
                                             // over.
    "CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;";

/// A null pointer would bind NULL, which is not the empty blob. The bytes outlive the step.
int bind_bytes(sqlite3_stmt* statement, int index, std::string_view bytes) {
    const char* data = bytes.empty() ? "" : bytes.data();
    return sqlite3_bind_blob64(statement, index, data, bytes.size(), SQLITE_STATIC);
}

std::string_view column(sqlite3_stmt* statement, int index) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, index));
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement, index))};
}

/// The first key after all that begin with `prefix`; nothing if there is none.
std::optional<std::string> end_of(std::string_view prefix) {
    std::string end(prefix);
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff)
        end.pop_back();
    if (end.empty()) return std::nullopt;
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    return end;
}

/// Ends a read when its statement goes out of use, so that no snapshot stays pinned.
class Reset {
  public:
    explicit Reset(sqlite3_stmt* statement) : statement_(statement) {}
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
    ~Reset() {
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }

  private:
    sqlite3_stmt* statement_;
};

int note_log_pages(void* pages, sqlite3* /*db*/, const char* /*name*/, int count) {
    *static_cast<std::size_t*>(pages) = static_cast<std::size_t>(count);
    return SQLITE_OK;
}

}  // namespace

Sql<std::unique_ptr<Connection>> Connection::open(const Options& options) {
    std::unique_ptr<Connection> connection(new Connection);
    TRY_STATUS(connection->set_up(options));
    return connection;
}

Connection::~Connection() {
    for (sqlite3_stmt* statement : statements_)
        sqlite3_finalize(statement);
    sqlite3_close(db_);
}

Sql<void> Connection::set_up(const Options& options) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(
        options.path.c_str(), &db_, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
    if (code != SQLITE_OK) return std::unexpected(error(code));
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_busy_timeout(db_, options.busy_timeout_ms);
    // The hook takes the place of SQLite's own checkpoints, which would stall the commit they
    // follow.
    sqlite3_wal_hook(db_, note_log_pages, &log_pages_);
    TRY_STATUS(exec("PRAGMA journal_mode = WAL"));
    TRY_STATUS(exec(kSetUp));
    return prepare_all();
}

Sql<void> Connection::prepare_all() {
    for (const char* sql : kQueries) {
        sqlite3_stmt* statement = nullptr;
        const int code =
            sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
        if (code != SQLITE_OK) return std::unexpected(error(code));
        statements_.push_back(statement);
    }
    return {};
}

Sql<void> Connection::begin() {
    return run(statements_[Begin]);
}
Sql<void> Connection::commit() {
    return run(statements_[Commit]);
}

void Connection::rollback() {
    if (sqlite3_get_autocommit(db_) != 0) return;  // SQLite has done it by itself.
    sqlite3_step(statements_[Rollback]);
    sqlite3_reset(statements_[Rollback]);
}

Sql<void> Connection::put(std::string_view key, std::string_view value) {
    bind_bytes(statements_[Put], 1, key);
    bind_bytes(statements_[Put], 2, value);
    return run(statements_[Put]);
}

Sql<void> Connection::erase(std::string_view key) {
    bind_bytes(statements_[Erase], 1, key);
    return run(statements_[Erase]);
}

Sql<std::optional<std::string>> Connection::get(std::string_view key) {
    sqlite3_stmt* statement = statements_[Get];
    const Reset reset(statement);
    bind_bytes(statement, 1, key);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return std::nullopt;
    if (code != SQLITE_ROW) return std::unexpected(error(code));
    return std::string(column(statement, 0));
}

Status Connection::scan(std::string_view prefix, const ScanCallback& callback) {
    const std::optional<std::string> end = end_of(prefix);
    sqlite3_stmt* statement = statements_[end ? Scan : ScanToEnd];
    const Reset reset(statement);
    bind_bytes(statement, 1, prefix);
    if (end) bind_bytes(statement, 2, *end);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        TRY_STATUS(callback(column(statement, 0), column(statement, 1)));
    }
    if (code != SQLITE_DONE) return fail(error(code).as_error());
    return {};
}

Sql<void> Connection::checkpoint(Checkpoint mode) {
    const int how =
        mode == Checkpoint::Passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
    const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, how, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(error(code));
    return {};
}

Sql<void> Connection::exec(const char* sql) {
    const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(error(code));
    return {};
}

Sql<void> Connection::run(sqlite3_stmt* statement) {
    const Reset reset(statement);
    const int code = sqlite3_step(statement);
    if (code != SQLITE_DONE) return std::unexpected(error(code));
    return {};
}

SqlError Connection::error(int code) const {
    std::string text = db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_);
    const int reason = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
    const int primary = code & 0xff;
    if (reason != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)) {
        text += ": " + std::generic_category().message(reason);
    }
    return {code, text};
}

}  // namespace twinyard::store
