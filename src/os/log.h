#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace twinyard::os {

enum class LogLevel { Debug, Info, Warning, Error };

/// A daemon's log: one line each, time, level, text, to a file that is opened again after a
/// rotation (SIGHUP is the caller's). Before open_log(), or with an empty path, lines go to stderr.
/// Any thread. spdlog is in log.cpp alone.
void open_log(const std::string& path, LogLevel least);
void reopen_log();
void write_log(LogLevel level, std::string_view line);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
    write_log(LogLevel::Debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    write_log(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    write_log(LogLevel::Warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    write_log(LogLevel::Error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace twinyard::os
