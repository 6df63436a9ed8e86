#include "accounting/sqlite/sqlite_accounting.h"

#include <sqlite3.h>

#include <mutex>
#include <utility>
#include <vector>

#include "accounting/filter.h"
#include "wire/messages.h"

namespace twinyard::accounting {
namespace {

struct CloseDb {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Db = std::unique_ptr<sqlite3, CloseDb>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

constexpr int kBusyTimeoutMs = 5'000;
constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "CREATE TABLE IF NOT EXISTS history("
    " job INTEGER NOT NULL, workload INTEGER NOT NULL, attempt INTEGER NOT NULL, step INTEGER NOT "
    "NULL,"
    " seq INTEGER NOT NULL, uid INTEGER NOT NULL, submitted INTEGER NOT NULL, started INTEGER NOT "
    "NULL,"
    " ended INTEGER NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY(job, workload, attempt, step)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS history_ended ON history(ended);";
// The later record of a row replaces the earlier one; a repeated or older one changes nothing.
constexpr const char* kPut =
    "INSERT INTO history VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
    " ON CONFLICT(job, workload, attempt, step) DO UPDATE SET seq=?5, uid=?6, submitted=?7, "
    "started=?8, ended=?9, record=?10"
    " WHERE seq <= ?5";

std::unexpected<Error> error_of(sqlite3* db, std::string_view what) {
    return fail(ErrorCode::Unavailable,
                "history: " + std::string(what) + ": " + sqlite3_errmsg(db));
}

Result<Db> open_db(const std::string& path) {
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(),
                        &raw,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr);
    Db db(raw);
    if (code != SQLITE_OK) return error_of(raw, "open " + path);
    sqlite3_busy_timeout(raw, kBusyTimeoutMs);
    return db;
}

Status run(sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error_of(db, "run");
    return {};
}

Result<Statement> prepare(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
        return error_of(db, "prepare");
    return Statement(raw);
}

sqlite3_int64 number(std::uint64_t value) {
    return static_cast<sqlite3_int64>(value);
}
sqlite3_int64 millis(WallTime time) {
    return time.time_since_epoch().count();
}

bool bind_record(sqlite3_stmt* put, const api::AccountingRecord& record, const std::string& bytes) {
    const sqlite3_int64 columns[] = {record.job.value(),
                                     number(record.workload.value()),
                                     record.attempt,
                                     row_order(record.step),
                                     number(record.outbox_seq),
                                     record.uid,
                                     millis(record.submitted),
                                     millis(record.started),
                                     millis(record.ended)};
    int at = 1;
    for (const sqlite3_int64 column : columns) {
        if (sqlite3_bind_int64(put, at++, column) != SQLITE_OK) return false;
    }
    return sqlite3_bind_blob64(put, at, bytes.data(), bytes.size(), SQLITE_STATIC) == SQLITE_OK;
}

/// The coarse part of a query in SQL; the rest is accounting::matches().
std::string select_text(const api::AccountingQuery& query) {
    std::string sql = "SELECT record FROM history h WHERE 1";
    const auto list = [&sql](const char* column, const auto& values, auto to_number) {
        if (values.empty()) return;
        sql += std::string(" AND ") + column + " IN (";
        for (const auto& value : values)
            sql += std::to_string(to_number(value)) + ",";
        sql.back() = ')';
    };
    list("job", query.jobs, [](model::JobId id) { return id.value(); });
    list("uid", query.uids, [](std::uint32_t uid) { return uid; });
    if (query.from)
        sql += " AND (ended = 0 OR ended >= " + std::to_string(millis(*query.from)) + ")";
    if (query.to) sql += " AND submitted <= " + std::to_string(millis(*query.to));
    if (!query.with_steps) sql += " AND step = " + std::to_string(row_order(-1));
    if (!query.all_attempts) {
        sql +=
            " AND attempt = (SELECT max(attempt) FROM history l WHERE l.job = h.job AND l.workload "
            "= h.workload)";
    }
    return sql + " ORDER BY job, workload, attempt, step";
}

}  // namespace

struct SqliteAccounting::Impl {
    std::mutex write_mutex;
    Db writer;
    Statement put;
    std::mutex read_mutex;
    Db reader;
};

SqliteAccounting::SqliteAccounting(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteAccounting::~SqliteAccounting() = default;

Result<std::unique_ptr<SqliteAccounting>> SqliteAccounting::open(const std::string& path) {
    auto impl = std::make_unique<Impl>();
    TRY(impl->writer, open_db(path));
    TRY_STATUS(run(impl->writer.get(), kSchema));
    TRY(impl->put, prepare(impl->writer.get(), kPut));
    TRY(impl->reader, open_db(path));
    return std::unique_ptr<SqliteAccounting>(new SqliteAccounting(std::move(impl)));
}

Status SqliteAccounting::write(std::span<const api::AccountingRecord> records) {
    const std::lock_guard lock(impl_->write_mutex);
    sqlite3* db = impl_->writer.get();
    TRY_STATUS(run(db, "BEGIN IMMEDIATE"));
    for (const api::AccountingRecord& record : records) {
        const std::string bytes = wire::encode(record);
        sqlite3_stmt* put = impl_->put.get();
        const bool done = bind_record(put, record, bytes) && sqlite3_step(put) == SQLITE_DONE;
        const Status failed = done ? Status() : Status(error_of(db, "write"));
        sqlite3_reset(put);
        if (failed) continue;
        (void)run(db, "ROLLBACK");
        return failed;
    }
    const Status committed = run(db, "COMMIT");
    if (!committed) (void)run(db, "ROLLBACK");
    return committed;
}

Status SqliteAccounting::query(const api::AccountingQuery& query, const RowCallback& row) {
    const std::lock_guard lock(impl_->read_mutex);
    sqlite3* db = impl_->reader.get();
    TRY(const Statement select, prepare(db, select_text(query)));
    for (;;) {
        const int code = sqlite3_step(select.get());
        if (code == SQLITE_DONE) return {};
        if (code != SQLITE_ROW) return error_of(db, "read");
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(select.get(), 0));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select.get(), 0));
        TRY(const api::AccountingRecord record, wire::decode<api::AccountingRecord>({bytes, size}));
        if (matches(query, record) && !row(record)) return {};
    }
}

}  // namespace twinyard::accounting
