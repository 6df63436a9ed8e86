#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace twinyard::os {

/// An append-only file of records, each with length and checksum, for state that must survive a
/// crash of the machine. A record counts once sync() came back. A torn last record (a crash while
/// writing) is cut off when the file is opened; a broken record with good ones after it is Corrupt.
/// One thread at a time; one process at a time (it is locked).
class JournalFile {
  public:
    /// The longest record. More is InvalidArgument.
    static constexpr std::size_t kRecordBytesMax = 16 << 20;

    /// Told every record in order while the file is opened. Its error stops the opening and is
    /// passed on.
    using Visitor = std::function<Status(std::string_view record)>;

    /// Opens or makes the file (mode 0600) and replays it. Conflict: another process has it open.
    [[nodiscard]] static Result<JournalFile> open(std::string path, const Visitor& visit);

    JournalFile(JournalFile&&) noexcept = default;
    JournalFile& operator=(JournalFile&&) noexcept = default;

    /// Adds a record; not durable before sync(). When it fails nothing of the record stays in the
    /// file.
    [[nodiscard]] Status append(std::string_view record);
    [[nodiscard]] Status sync();
    /// append and sync in one.
    [[nodiscard]] Status append_durably(std::string_view record);

    /// Replaces the whole content by `records`, atomically and durably: after a crash the file has
    /// all old or all new.
    [[nodiscard]] Status compact(std::span<const std::string> records);

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t records() const { return records_; }
    /// How many bytes of a torn tail were cut off when the file was opened.
    [[nodiscard]] std::uint64_t bytes_torn() const { return bytes_torn_; }

  private:
    JournalFile(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    [[nodiscard]] Status load(const Visitor& visit);
    [[nodiscard]] Status create(std::span<const std::string> records);
    [[nodiscard]] Status write_frame(std::string_view frame);

    std::string path_;
    Fd lock_;  ///< Lock on "<path>.lock": stays the same file when compact() renames.
    Fd file_;
    std::string pending_;  ///< Records since the last sync(), each with its length.
    std::uint32_t pending_records_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t bytes_torn_ = 0;
};

}  // namespace twinyard::os
