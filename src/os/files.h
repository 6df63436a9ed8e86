#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "os/users.h"

namespace twinyard::os {

// Errors of all functions here: NotFound (ENOENT, ENOTDIR), Denied (EACCES, EPERM, EROFS), Conflict
// (EEXIST, ENOTEMPTY), Unavailable (ENOSPC, EDQUOT, EIO and the rest); the message has the path and
// the system's words.

/// The error for errno `number` with `what` (a call or a path) in front.
[[nodiscard]] Error system_error(int number, std::string_view what);

/// Reads a whole file; at most `limit` bytes, else InvalidArgument. A limit always exists.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = 64 << 20);

/// Replaces the file as a whole: tmp beside it, fsync, rename, fsync of the folder. After a crash:
/// old or new, never half.
[[nodiscard]] Status write_file_atomic(const std::string& path,
                                       std::string_view content,
                                       mode_t mode = 0600);

/// Writes all of `data` to a descriptor, going on after EINTR and short writes.
[[nodiscard]] Status write_all(int fd, std::string_view data);

/// Makes a folder of mode 0700 that belongs to us, parents too (0755). Conflict when something else
/// is there, Denied when the folder belongs to another user or others may write to it.
[[nodiscard]] Status make_private_folder(const std::string& path);

/// fsync of a folder, so that names made in it are durable.
[[nodiscard]] Status sync_folder(const std::string& path);

/// Removes a file or a folder with all in it, never following links, never crossing into another
/// file system. Absent is fine.
[[nodiscard]] Status remove_tree(const std::string& path);

/// Opens with the rights of `who`, close-on-exec: root never goes through a user's path as root.
/// Never blocks on a FIFO (one without a reader is an error). Only the calling thread changes its
/// identity, for the length of the open. Not root and not `who` already: Denied.
[[nodiscard]] Result<Fd> open_as_user(const Identity& who,
                                      const std::string& path,
                                      int flags,
                                      mode_t mode = 0666);

/// mkdir -p with the rights of `who`, mode 0777 less the umask.
[[nodiscard]] Status make_folders_as_user(const Identity& who, const std::string& path);

/// The part of a path before its last slash: "." for none, "/" for the root.
[[nodiscard]] std::string parent_folder(std::string_view path);

/// A close-on-exec pipe.
[[nodiscard]] Result<Pipe> make_pipe();

/// Takes an exclusive lock on a file (made if absent) that the kernel gives back when the process
/// dies. Conflict: somebody else holds it. Keep the Fd as long as the lock is wanted.
[[nodiscard]] Result<Fd> lock_file(const std::string& path);

}  // namespace twinyard::os
