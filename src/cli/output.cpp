#include "cli/output.h"

#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace twinyard::cli {

namespace {

constexpr std::size_t kBufferMax = std::size_t{64} << 10;

/// What cannot be written (a full disk, a reader that left) is lost: a command has nowhere else to
/// say so.
void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

Output::Output(std::string_view command, int out_fd, int err_fd)
    : command_(command), out_fd_(out_fd), err_fd_(err_fd) {}

Output::Output(std::string_view command) : command_(command) {}

Output::~Output() {
    flush();
}

void Output::out(std::string_view text) {
    out_ += text;
    if (out_.size() >= kBufferMax) flush();
}

void Output::err(std::string_view text) {
    if (err_fd_ < 0) {
        err_ += text;
        return;
    }
    flush();
    write_all(err_fd_, text);
}

void Output::error(std::string_view text) {
    prefixed(command_ + ": error: ", text);
}

void Output::note(std::string_view text) {
    prefixed(command_ + ": ", text);
}

void Output::prefixed(std::string_view prefix, std::string_view text) {
    std::string lines;
    for (const std::string_view line : split(text, '\n')) {
        lines += prefix;
        lines += line;
        lines += '\n';
    }
    err(lines);
}

void Output::flush() {
    if (out_fd_ < 0) return;
    write_all(out_fd_, out_);
    out_.clear();
}

}  // namespace twinyard::cli
