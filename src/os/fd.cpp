#include "os/fd.h"

#include <unistd.h>

namespace twinyard::os {

void Fd::reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

}  // namespace twinyard::os
