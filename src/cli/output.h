#pragma once

#include <string>
#include <string_view>

namespace twinyard::cli {

/// Where a command writes. stdout is buffered, stderr is not; what was written to stdout before an
/// error comes out before it. One thread.
class Output {
  public:
    /// Writes to these files. `command` stands before errors: "sbatch: error: …".
    Output(std::string_view command, int out_fd, int err_fd);
    /// Keeps everything, for tests.
    explicit Output(std::string_view command);
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output();

    /// To stdout and stderr as it is.
    void out(std::string_view text);
    void err(std::string_view text);
    /// "sbatch: error: LINE" to stderr, for each line of the text.
    void error(std::string_view text);
    /// "sbatch: LINE" to stderr, for each line of the text: what is no error.
    void note(std::string_view text);
    void flush();

    [[nodiscard]] std::string_view command() const { return command_; }
    /// What tests look at; empty when there are files.
    [[nodiscard]] const std::string& out_text() const { return out_; }
    [[nodiscard]] const std::string& err_text() const { return err_; }

  private:
    void prefixed(std::string_view prefix, std::string_view text);

    std::string command_;
    int out_fd_ = -1;
    int err_fd_ = -1;
    std::string out_, err_;
};

}  // namespace twinyard::cli
