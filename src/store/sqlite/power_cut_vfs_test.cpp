#include "store/sqlite/power_cut_vfs.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

namespace twinyard::store {
namespace {

enum class EventKind : std::uint8_t { Create, Remove, Write, Truncate, Sync };

struct Event {
    EventKind kind;
    int inode = 0;
    std::string name;        // Create, Remove.
    std::size_t offset = 0;  // Write; the new size for Truncate.
    std::string bytes;
};

std::string base_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

/// Writes `part` of the event's bytes, or truncates.
void perform(std::string& file, const Event& event, std::size_t part) {
    if (event.kind == EventKind::Truncate) {
        file.resize(event.offset);
        return;
    }
    if (file.size() < event.offset + part) file.resize(event.offset + part);
    file.replace(event.offset, part, event.bytes, 0, part);
}

/// One file while the events are replayed: what is durable, and what waits for a sync.
struct Replayed {
    std::string durable;
    std::vector<const Event*> pending;

    void sync() {
        for (const Event* event : pending)
            perform(durable, *event, event->bytes.size());
        pending.clear();
    }
    [[nodiscard]] std::string after_cut(Unsynced unsynced) const {
        std::string file = durable;
        for (std::size_t i = 0; i < pending.size(); ++i) {
            const bool last = i + 1 == pending.size();
            const std::size_t size = pending[i]->bytes.size();
            switch (unsynced) {
                case Unsynced::Lost:
                    break;
                case Unsynced::Kept:
                    perform(file, *pending[i], size);
                    break;
                case Unsynced::Torn:
                    perform(file, *pending[i], last ? size / 2 : size);
                    break;
                case Unsynced::LastOnly:
                    if (last) perform(file, *pending[i], size);
                    break;
                case Unsynced::Every2nd:
                    if (i % 2 == 1) perform(file, *pending[i], size);
                    break;
            }
        }
        return file;
    }
};

/// Lets a number of calls pass, then fails all.
class Fault {
  public:
    void set(int code, int after) {
        const std::lock_guard lock(mutex_);
        code_ = code;
        left_ = after;
    }
    int next() {
        const std::lock_guard lock(mutex_);
        if (code_ == SQLITE_OK) return SQLITE_OK;
        return left_-- > 0 ? SQLITE_OK : code_;
    }

  private:
    std::mutex mutex_;
    int code_ = SQLITE_OK;
    int left_ = 0;
};

}  // namespace

struct PowerCutVfs::Impl {
    sqlite3_vfs vfs{};
    sqlite3_vfs* real = nullptr;
    std::string name;
    Fault writes;
    Fault syncs;

    mutable std::mutex mutex;
    std::vector<Event> events;
    std::map<std::string, int> inodes;  // Names as they are now.
    int inode_last = 0;

    void record(Event event) {
        const std::lock_guard lock(mutex);
        events.push_back(std::move(event));
    }
    int inode_of(const std::string& file) {
        const std::lock_guard lock(mutex);
        const auto found = inodes.find(file);
        if (found != inodes.end()) return found->second;
        inodes[file] = ++inode_last;
        events.push_back({EventKind::Create, inode_last, file, 0, ""});
        return inode_last;
    }
    void remove(const std::string& file) {
        const std::lock_guard lock(mutex);
        if (inodes.erase(file) > 0) events.push_back({EventKind::Remove, 0, file, 0, ""});
    }
};

namespace {

using Impl = PowerCutVfs::Impl;

/// SQLite allocates it; the real file lies right behind.
struct File {
    sqlite3_file base;
    Impl* impl;
    int inode;  // 0: not one that a power cut concerns (a temporary file).
    sqlite3_file* real;
};

File& as_file(sqlite3_file* file) {
    return *reinterpret_cast<File*>(file);
}
Impl& as_impl(sqlite3_vfs* vfs) {
    return *static_cast<Impl*>(vfs->pAppData);
}

int file_close(sqlite3_file* file) {
    return as_file(file).real->pMethods->xClose(as_file(file).real);
}
int file_read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
    return as_file(file).real->pMethods->xRead(as_file(file).real, to, size, offset);
}
int file_write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    const File& self = as_file(file);
    if (const int code = self.impl->writes.next(); code != SQLITE_OK) return code;
    if (self.inode != 0) {
        const auto* bytes = static_cast<const char*>(from);
        self.impl->record({EventKind::Write,
                           self.inode,
                           "",
                           static_cast<std::size_t>(offset),
                           std::string(bytes, static_cast<std::size_t>(size))});
    }
    return self.real->pMethods->xWrite(self.real, from, size, offset);
}
int file_truncate(sqlite3_file* file, sqlite3_int64 size) {
    const File& self = as_file(file);
    if (self.inode != 0) {
        self.impl->record(
            {EventKind::Truncate, self.inode, "", static_cast<std::size_t>(size), ""});
    }
    return self.real->pMethods->xTruncate(self.real, size);
}
/// The real sync is left out: what it would do is what this VFS models.
int file_sync(sqlite3_file* file, int /*flags*/) {
    const File& self = as_file(file);
    if (const int code = self.impl->syncs.next(); code != SQLITE_OK) return code;
    if (self.inode != 0) self.impl->record({EventKind::Sync, self.inode, "", 0, ""});
    return SQLITE_OK;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return as_file(file).real->pMethods->xFileSize(as_file(file).real, size);
}
int file_lock(sqlite3_file* file, int level) {
    return as_file(file).real->pMethods->xLock(as_file(file).real, level);
}
int file_unlock(sqlite3_file* file, int level) {
    return as_file(file).real->pMethods->xUnlock(as_file(file).real, level);
}
int file_check_lock(sqlite3_file* file, int* out) {
    return as_file(file).real->pMethods->xCheckReservedLock(as_file(file).real, out);
}
int file_control(sqlite3_file* file, int op, void* argument) {
    if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;  // It would grow the file past our record.
    return as_file(file).real->pMethods->xFileControl(as_file(file).real, op, argument);
}
int file_sector_size(sqlite3_file* file) {
    return as_file(file).real->pMethods->xSectorSize(as_file(file).real);
}
int file_characteristics(sqlite3_file* file) {
    return as_file(file).real->pMethods->xDeviceCharacteristics(as_file(file).real);
}
int file_shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return as_file(file).real->pMethods->xShmMap(as_file(file).real, page, size, extend, out);
}
int file_shm_lock(sqlite3_file* file, int offset, int n, int flags) {
    return as_file(file).real->pMethods->xShmLock(as_file(file).real, offset, n, flags);
}
void file_shm_barrier(sqlite3_file* file) {
    as_file(file).real->pMethods->xShmBarrier(as_file(file).real);
}
int file_shm_unmap(sqlite3_file* file, int remove) {
    return as_file(file).real->pMethods->xShmUnmap(as_file(file).real, remove);
}

const sqlite3_io_methods& io_methods() {
    static const sqlite3_io_methods methods = [] {
        sqlite3_io_methods m{};
        m.iVersion = 2;
        m.xClose = file_close;
        m.xRead = file_read;
        m.xWrite = file_write;
        m.xTruncate = file_truncate;
        m.xSync = file_sync;
        m.xFileSize = file_size;
        m.xLock = file_lock;
        m.xUnlock = file_unlock;
        m.xCheckReservedLock = file_check_lock;
        m.xFileControl = file_control;
        m.xSectorSize = file_sector_size;
        m.xDeviceCharacteristics = file_characteristics;
        m.xShmMap = file_shm_map;
        m.xShmLock = file_shm_lock;
        m.xShmBarrier = file_shm_barrier;
        m.xShmUnmap = file_shm_unmap;
        return m;
    }();
    return methods;
}

int vfs_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    Impl& impl = as_impl(vfs);
    File& self = as_file(file);
    self.real = reinterpret_cast<sqlite3_file*>(&self + 1);
    const int code = impl.real->xOpen(impl.real, path, self.real, flags, out_flags);
    self.base.pMethods = self.real->pMethods == nullptr ? nullptr : &io_methods();
    if (code != SQLITE_OK) return code;
    self.impl = &impl;
    const int kept = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    self.inode = path != nullptr && (flags & kept) != 0 ? impl.inode_of(base_name(path)) : 0;
    return SQLITE_OK;
}

int vfs_delete(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    Impl& impl = as_impl(vfs);
    impl.remove(base_name(path));
    if (sync_folder != 0) impl.record({EventKind::Sync, 0, "", 0, ""});
    return impl.real->xDelete(impl.real, path, 0);
}

std::string next_name() {
    static std::atomic<int> count = 0;
    return "power-cut-" + std::to_string(++count);
}

}  // namespace

PowerCutVfs::PowerCutVfs() : impl_(std::make_unique<Impl>()) {
    impl_->real = sqlite3_vfs_find(nullptr);
    impl_->name = next_name();
    // The rest of the calls (paths, time, randomness) are the real ones: the unix VFS finds its own
    // data in the object that it is called with, which is why pAppData is only read by ours.
    impl_->vfs = *impl_->real;
    impl_->vfs.pNext = nullptr;
    impl_->vfs.zName = impl_->name.c_str();
    impl_->vfs.pAppData = impl_.get();
    impl_->vfs.szOsFile = static_cast<int>(sizeof(File)) + impl_->real->szOsFile;
    impl_->vfs.xOpen = vfs_open;
    impl_->vfs.xDelete = vfs_delete;
    sqlite3_vfs_register(&impl_->vfs, 0);
}

PowerCutVfs::~PowerCutVfs() {
    sqlite3_vfs_unregister(&impl_->vfs);
}

const std::string& PowerCutVfs::name() const {
    return impl_->name;
}
void PowerCutVfs::fail_writes(int code, int after) {
    impl_->writes.set(code, after);
}
void PowerCutVfs::fail_syncs(int code, int after) {
    impl_->syncs.set(code, after);
}

std::size_t PowerCutVfs::points() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->events.size();
}

DiskImage PowerCutVfs::cut(std::size_t point, Unsynced unsynced) const {
    const std::lock_guard lock(impl_->mutex);
    std::map<int, Replayed> files;
    std::map<std::string, int> names;
    std::map<std::string, int> durable_names;
    for (std::size_t i = 0; i < point; ++i) {
        const Event& event = impl_->events[i];
        switch (event.kind) {
            case EventKind::Create:
                names[event.name] = event.inode;
                break;
            case EventKind::Remove:
                names.erase(event.name);
                break;
            case EventKind::Sync:
                files[event.inode].sync();
                durable_names = names;
                break;
            case EventKind::Write:
            case EventKind::Truncate:
                files[event.inode].pending.push_back(&event);
                break;
        }
    }
    DiskImage image;
    for (const auto& [name, inode] : unsynced == Unsynced::Lost ? durable_names : names) {
        image[name] = files[inode].after_cut(unsynced);
    }
    return image;
}

namespace {

/// Writes through the VFS as SQLite would.
class PowerCut : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "power_cut.XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        vfs_ = sqlite3_vfs_find(cut_.name().c_str());
        ASSERT_NE(vfs_, nullptr);
        memory_.resize(static_cast<std::size_t>(vfs_->szOsFile));
        file_ = reinterpret_cast<sqlite3_file*>(memory_.data());
        path_ = folder_ + "/f";
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL;
        ASSERT_EQ(vfs_->xOpen(vfs_, path_.c_str(), file_, flags, nullptr), SQLITE_OK);
    }
    void TearDown() override {
        file_->pMethods->xClose(file_);
        ::unlink(path_.c_str());
        ::rmdir(folder_.c_str());
    }
    int write(std::string_view bytes, int offset) {
        return file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(bytes.size()), offset);
    }
    void sync() { ASSERT_EQ(file_->pMethods->xSync(file_, SQLITE_SYNC_FULL), SQLITE_OK); }

    PowerCutVfs cut_;
    std::string folder_;
    std::string path_;
    sqlite3_vfs* vfs_ = nullptr;
    std::vector<char> memory_;
    sqlite3_file* file_ = nullptr;
};

TEST_F(PowerCut, WhatWasNotSyncedIsLostKeptOrTorn) {
    ASSERT_EQ(write("aaaa", 0), SQLITE_OK);
    sync();
    ASSERT_EQ(write("bb", 0), SQLITE_OK);
    ASSERT_EQ(write("cccc", 4), SQLITE_OK);
    const struct {
        Unsynced unsynced;
        const char* want;
    } cases[] = {
        {Unsynced::Lost, "aaaa"},
        {Unsynced::Kept, "bbaacccc"},
        {Unsynced::Torn, "bbaacc"},
        {Unsynced::LastOnly, "aaaacccc"},
        {Unsynced::Every2nd, "aaaacccc"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(cut_.cut(cut_.points(), c.unsynced), (DiskImage{{"f", c.want}}));
    }
    EXPECT_EQ(cut_.cut(2, Unsynced::Lost), DiskImage{}) << "not even the name was durable";
    EXPECT_EQ(cut_.cut(2, Unsynced::Kept), (DiskImage{{"f", "aaaa"}}));
}

TEST_F(PowerCut, FaultsAreReturned) {
    cut_.fail_writes(SQLITE_FULL, 1);
    EXPECT_EQ(write("x", 0), SQLITE_OK);
    EXPECT_EQ(write("x", 0), SQLITE_FULL);
    EXPECT_EQ(write("x", 0), SQLITE_FULL);
    cut_.fail_writes(SQLITE_OK);
    EXPECT_EQ(write("x", 0), SQLITE_OK);
    cut_.fail_syncs(SQLITE_IOERR_FSYNC);
    EXPECT_EQ(file_->pMethods->xSync(file_, SQLITE_SYNC_FULL), SQLITE_IOERR_FSYNC);
}

}  // namespace
}  // namespace twinyard::store
