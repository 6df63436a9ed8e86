#include "os/journal_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/hash.h"
#include "os/files.h"

namespace twinyard::os {

namespace {

// The file: magic, then frames. A frame is what one sync() wrote: payload length (4), record count
// (4), checksum (8), payload; the payload is records, each with its length (4) in front. Numbers
// are little endian. As a frame is only written after the one before it is durable, only the last
// one can be torn.
constexpr std::string_view kMagic = "TWYJRNL1";
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 30;
constexpr std::size_t kFrameBytesMax = std::size_t{32} << 20;

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        out += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::uint64_t take(std::string_view text, std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        value |= std::uint64_t{static_cast<std::uint8_t>(text[at + i])} << (8 * i);
    }
    return value;
}

std::uint64_t checksum(std::string_view payload, std::uint32_t records) {
    return Fnv64()
        .add(std::uint64_t{payload.size()})
        .add(std::uint64_t{records})
        .add(payload)
        .value();
}

std::string frame_of(std::string_view payload, std::uint32_t records) {
    std::string frame;
    frame.reserve(kHeaderBytes + payload.size());
    put(frame, payload.size(), 4);
    put(frame, records, 4);
    put(frame, checksum(payload, records), 8);
    return frame.append(payload);
}

void add_record(std::string& payload, std::string_view record) {
    put(payload, record.size(), 4);
    payload.append(record);
}

struct Frame {
    std::string_view payload;
    std::uint32_t records = 0;
    std::size_t end = 0;
};

/// The frame that begins at `at`, if a whole and sound one does.
std::optional<Frame> frame_at(std::string_view file, std::size_t at) {
    if (file.size() - at < kHeaderBytes) return {};
    const std::size_t length = take(file, at, 4);
    const auto records = static_cast<std::uint32_t>(take(file, at + 4, 4));
    if (records == 0 || length > file.size() - at - kHeaderBytes) return {};
    const std::string_view payload = file.substr(at + kHeaderBytes, length);
    if (checksum(payload, records) != take(file, at + 8, 8)) return {};
    return Frame{payload, records, at + kHeaderBytes + length};
}

bool has_frame_after(std::string_view file, std::size_t at) {
    for (std::size_t i = at + 1; i + kHeaderBytes <= file.size(); ++i) {
        if (frame_at(file, i)) return true;
    }
    return false;
}

Status visit_records(const Frame& frame, const JournalFile::Visitor& visit) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < frame.records; ++i) {
        if (frame.payload.size() - at < 4) return fail(ErrorCode::Corrupt, "record ends early");
        const std::size_t length = take(frame.payload, at, 4);
        at += 4;
        if (length > frame.payload.size() - at)
            return fail(ErrorCode::Corrupt, "record ends early");
        TRY_STATUS(visit(frame.payload.substr(at, length)));
        at += length;
    }
    return {};
}

}  // namespace

Result<JournalFile> JournalFile::open(std::string path, const Visitor& visit) {
    TRY(Fd lock, lock_file(path + ".lock"));
    JournalFile journal(std::move(path), std::move(lock));
    if (Status loaded = journal.load(visit); !loaded) {
        return fail(std::move(loaded).error().in("journal " + journal.path_));
    }
    return journal;
}

Status JournalFile::load(const Visitor& visit) {
    const Result<std::string> content = read_file(path_, kFileBytesMax);
    const bool absent = !content && content.error().code() == ErrorCode::NotFound;
    if (!content && !absent) return fail(content.error());
    // create() is atomic, so an empty file was not made by us, but it loses nothing to begin it
    // anew.
    if (absent || content->empty()) return create({});
    if (!content->starts_with(kMagic)) return fail(ErrorCode::Corrupt, "not a journal");

    std::size_t at = kMagic.size();
    while (const std::optional<Frame> frame = frame_at(*content, at)) {
        TRY_STATUS(visit_records(*frame, visit));
        records_ += frame->records;
        at = frame->end;
    }
    if (at < content->size() && has_frame_after(*content, at)) {
        return fail(ErrorCode::Corrupt,
                    "broken at byte " + std::to_string(at) + " with good frames after it");
    }
    bytes_ = at;
    bytes_torn_ = content->size() - at;
    file_ = Fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file_) return fail(system_error(errno, "open"));
    if (bytes_torn_ == 0) return {};
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0 || ::fsync(file_.get()) != 0) {
        return fail(system_error(errno, "cut off torn tail"));
    }
    return {};
}

Status JournalFile::create(std::span<const std::string> records) {
    std::string payload;
    for (const std::string& record : records) {
        if (record.size() > kRecordBytesMax) {
            return fail(ErrorCode::InvalidArgument, "journal record too long");
        }
        add_record(payload, record);
    }
    std::string content(kMagic);
    if (!records.empty()) content += frame_of(payload, static_cast<std::uint32_t>(records.size()));
    TRY_STATUS(write_file_atomic(path_, content));
    file_ = Fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file_) return fail(system_error(errno, "open " + path_));
    bytes_ = content.size();
    records_ = records.size();
    return {};
}

Status JournalFile::append(std::string_view record) {
    if (record.size() > kRecordBytesMax) {
        return fail(ErrorCode::InvalidArgument, "journal record too long");
    }
    if (pending_.size() + record.size() > kFrameBytesMax) TRY_STATUS(sync());
    add_record(pending_, record);
    ++pending_records_;
    return {};
}

Status JournalFile::write_frame(std::string_view frame) {
    Status written = write_all(file_.get(), frame);
    if (written && ::fdatasync(file_.get()) != 0) written = fail(system_error(errno, "fsync"));
    if (written) return {};
    // Half a frame must not stay: the next one would be written behind it.
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) file_.reset();
    return fail(std::move(written).error().in("journal " + path_));
}

Status JournalFile::sync() {
    if (pending_records_ == 0) return {};
    if (!file_) return fail(ErrorCode::Unavailable, "journal " + path_ + ": closed after an error");
    const std::string frame = frame_of(pending_, pending_records_);
    const std::uint32_t count = std::exchange(pending_records_, 0);
    pending_.clear();
    TRY_STATUS(write_frame(frame));
    bytes_ += frame.size();
    records_ += count;
    return {};
}

Status JournalFile::append_durably(std::string_view record) {
    TRY_STATUS(append(record));
    return sync();
}

Status JournalFile::compact(std::span<const std::string> records) {
    pending_.clear();
    pending_records_ = 0;
    return create(records);
}

}  // namespace twinyard::os
