#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "store/guard.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/writer.h"

namespace twinyard::store {
namespace {

/// Only a foreign tool can hold a lock that we wait for; it had better be short.
constexpr int kBusyTimeoutMs = 30'000;

}  // namespace

struct SqliteStore::Item {
    Transaction transaction;
    Completion done;
    bool is_batch = false;
    bool surplus = false;  // One side write too many: answered Refused when its turn comes.
};

namespace {

/// Scripts and environments lie in it: for its owner alone. SQLite gives the log the same mode. An
/// error here comes back when SQLite opens the file.
void create_private(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const Options& options) {
    TRY(FolderLock lock, FolderLock::take(options.folder));
    create_private(options.folder + "/state.db");
    std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(lock), options));
    if (Status opened = store->writer_->open(); !opened) {
        return fail(std::move(opened).error().in(store->path_));
    }
    store->thread_ = std::thread([raw = store.get()] { raw->run(); });
    return store;
}

SqliteStore::SqliteStore(FolderLock lock, const Options& options)
    : lock_(std::move(lock)), path_(options.folder + "/state.db"), vfs_(options.vfs) {
    const Connection::Options how{path_, vfs_, kBusyTimeoutMs};
    checkpointer_ = std::make_unique<Checkpointer>(
        how, Checkpointer::Thresholds{options.log_pages_wanted, options.log_pages_max});
    const auto alone = [this](const std::function<void()>& work) {
        const std::unique_lock paused = checkpointer_->pause();
        const std::lock_guard reader_lock(reader_mutex_);
        reader_.reset();
        work();
    };
    writer_ = std::make_unique<Writer>(how, alone);
}

SqliteStore::~SqliteStore() {
    {
        const std::lock_guard lock(queue_mutex_);
        stop_ = true;
    }
    queue_grew_.notify_one();
    if (thread_.joinable()) thread_.join();
}

Status SqliteStore::submit(Batch batch, Completion done) {
    TRY_STATUS(prepare(batch.ops, limits()));
    {
        const std::lock_guard lock(queue_mutex_);
        CHECK(batches_in_flight_ < kBatchesInFlightMax);
        ++batches_in_flight_;
    }
    enqueue({{std::move(batch), {}}, std::move(done), true, false});
    return {};
}

Status SqliteStore::submit(SideWrite write, Completion done) {
    TRY_STATUS(prepare(write.ops, limits()));
    bool surplus = false;
    {
        const std::lock_guard lock(queue_mutex_);
        surplus = ++side_writes_in_flight_ > kSideWritesInFlightMax;
    }
    enqueue({{std::nullopt, std::move(write)}, std::move(done), false, surplus});
    return {};
}

void SqliteStore::enqueue(Item item) {
    {
        const std::lock_guard lock(queue_mutex_);
        queue_.push_back(std::move(item));
    }
    queue_grew_.notify_one();
}

void SqliteStore::run() {
    while (true) {
        std::vector<Item> group = take_group();
        if (group.empty()) return;
        commit(std::move(group));
    }
}

/// All that waits: one sync serves them all. Empty: stop.
std::vector<SqliteStore::Item> SqliteStore::take_group() {
    std::unique_lock lock(queue_mutex_);
    queue_grew_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    std::vector<Item> group;
    for (Item& item : queue_)
        group.push_back(std::move(item));
    queue_.clear();
    return group;
}

void SqliteStore::commit(std::vector<Item> group) {
    std::vector<Transaction> transactions;
    for (Item& item : group) {
        if (!item.surplus) transactions.push_back(std::move(item.transaction));
    }
    const std::vector<Reply> replies = writer_->commit(transactions);
    std::size_t next = 0;
    for (const Item& item : group) {
        if (item.surplus) {
            answer(item, {Outcome::Refused, "store: too many side writes wait"});
        } else {
            answer(item, replies[next++]);
        }
    }
    checkpointer_->log_grew(writer_->log_pages());
}

void SqliteStore::answer(const Item& item, Reply reply) {
    {
        const std::lock_guard lock(queue_mutex_);
        --(item.is_batch ? batches_in_flight_ : side_writes_in_flight_);
    }
    item.done(std::move(reply));
}

/// The caller holds reader_mutex_.
Result<Connection*> SqliteStore::reader() {
    if (reader_ == nullptr) {
        Sql<std::unique_ptr<Connection>> opened = Connection::open({path_, vfs_, kBusyTimeoutMs});
        if (!opened) return fail(opened.error().as_error());
        reader_ = *std::move(opened);
    }
    return reader_.get();
}

Result<std::optional<std::string>> SqliteStore::get(std::string_view key) {
    const std::lock_guard lock(reader_mutex_);
    TRY(Connection* const connection, reader());
    Sql<std::optional<std::string>> value = connection->get(key);
    if (value) return *std::move(value);
    reader_.reset();
    return fail(value.error().as_error());
}

Status SqliteStore::scan(std::string_view prefix, const ScanCallback& callback) {
    const std::lock_guard lock(reader_mutex_);
    TRY(Connection* const connection, reader());
    return connection->scan(prefix, callback);
}

Result<std::uint64_t> SqliteStore::acquire_term() {
    return writer_->acquire_term();
}

}  // namespace twinyard::store
