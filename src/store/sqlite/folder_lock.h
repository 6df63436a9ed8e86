#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace twinyard::store {

/// An exclusive lock on a folder, held until destroyed or until the process ends, however it ends.
/// The file `lock` in the folder names the holder's pid.
class FolderLock {
  public:
    /// Conflict, naming the holder, if another handle has it; Unavailable if the file cannot be
    /// opened.
    [[nodiscard]] static Result<FolderLock> take(const std::string& folder);

    FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FolderLock& operator=(FolderLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

  private:
    explicit FolderLock(int fd) : fd_(fd) {}
    int fd_ = -1;
};

}  // namespace twinyard::store
