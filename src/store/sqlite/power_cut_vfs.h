#pragma once

// Test support: an SQLite VFS that remembers what a power cut would leave.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace twinyard::store {

/// Files as a power cut leaves them: base name to bytes.
using DiskImage = std::map<std::string, std::string>;

/// What became of the writes that no sync had made durable when the power went.
enum class Unsynced : std::uint8_t {
    Lost,      ///< All gone.
    Kept,      ///< All there: only the process died.
    Torn,      ///< All there but the last, of which one half is.
    LastOnly,  ///< Gone but for the last one: the disk wrote out of order.
    Every2nd,  ///< Every second one is there.
};

/// Passes everything to the default VFS and records each write, truncation, sync, creation and
/// deletion, so that one run yields the disk after a power cut at every point of it. Can also fail
/// writes and syncs. Registered under a name of its own while it lives.
/// Model: a sync makes one file durable, and the names in the folder (as journalling file systems
/// do).
class PowerCutVfs {
  public:
    PowerCutVfs();
    PowerCutVfs(const PowerCutVfs&) = delete;
    PowerCutVfs& operator=(const PowerCutVfs&) = delete;
    ~PowerCutVfs();

    [[nodiscard]] const std::string& name() const;

    /// All writes (syncs) fail with `code` once `after` more of them have passed; 0 (SQLITE_OK)
    /// lets them pass again. A failed sync leaves the writes before it where readers see them, as a
    /// kernel does.
    void fail_writes(int code, int after = 0);
    void fail_syncs(int code, int after = 0);

    /// Points so far; a cut at point n comes before event n.
    [[nodiscard]] std::size_t points() const;
    [[nodiscard]] DiskImage cut(std::size_t point, Unsynced unsynced) const;

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace twinyard::store
