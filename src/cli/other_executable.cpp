#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "cli/verbs.h"

namespace twinyard::cli {

namespace {

/// PREFIX/libexec of PREFIX/bin/twinyard, whatever link we were called by.
std::string libexec_folder() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    std::string prefix(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    for (int level = 0; level < 2; ++level)
        prefix.resize(std::min(prefix.rfind('/'), prefix.size()));
    return prefix + "/libexec";
}

}  // namespace

ExitCode run_other_executable(std::string_view verb, Args args, Output& output) {
    const std::string path = libexec_folder() + "/twinyard-" + std::string(verb);
    std::vector<std::string> words{path};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    output.flush();
    ::execv(path.c_str(), argv.data());
    const bool absent = errno == ENOENT;
    output.error(
        std::string(verb) +
        (absent ? ": not built yet in this version of Twinyard (" : ": cannot be executed (") +
        path + ": " + std::strerror(errno) + ")");
    return kFailed;
}

}  // namespace twinyard::cli
