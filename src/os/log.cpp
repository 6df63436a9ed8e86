#include "os/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

namespace twinyard::os {
namespace {

struct Log {
    std::mutex mutex;
    std::shared_ptr<spdlog::logger> logger;
    std::string path;
    spdlog::level::level_enum least = spdlog::level::info;
};

Log& the_log() {
    static Log log;
    return log;
}

spdlog::level::level_enum level_of(LogLevel level) {
    switch (level) {
        case LogLevel::Debug:
            return spdlog::level::debug;
        case LogLevel::Info:
            return spdlog::level::info;
        case LogLevel::Warning:
            return spdlog::level::warn;
        case LogLevel::Error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger(const Log& log) {
    std::shared_ptr<spdlog::sinks::sink> sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    if (!log.path.empty()) {
        try {
            sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(log.path);
        } catch (const spdlog::spdlog_ex&) {
            // A log that cannot be written must not stop the daemon: stderr stays.
        }
    }
    auto logger = std::make_shared<spdlog::logger>("twinyard", std::move(sink));
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    logger->set_level(log.least);
    logger->flush_on(spdlog::level::info);
    // A full disk under the log costs lines, nothing else.
    logger->set_error_handler([](const std::string&) {});
    return logger;
}

}  // namespace

void open_log(const std::string& path, LogLevel least) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    log.path = path;
    log.least = level_of(least);
    log.logger = make_logger(log);
}

void reopen_log() {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    log.logger = make_logger(log);
}

void write_log(LogLevel level, std::string_view line) {
    Log& log = the_log();
    std::shared_ptr<spdlog::logger> logger;
    {
        const std::lock_guard lock(log.mutex);
        if (!log.logger) log.logger = make_logger(log);
        logger = log.logger;
    }
    logger->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace twinyard::os
