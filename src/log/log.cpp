// The only user of spdlog, which is slow to compile.
#include "log/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace divvy::log {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;
constexpr std::size_t kOldFiles = 1;

spdlog::level::level_enum toSpdlog(Level level) {
  switch (level) {
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> make(const std::string& path) {
  spdlog::sink_ptr sink;
  try {
    if (!path.empty())
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kMaxBytes, kOldFiles);
  } catch (const spdlog::spdlog_ex&) {
    // A full or read-only disk must not stop a daemon.
  }
  if (sink == nullptr) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("divvy", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::info);
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

std::shared_ptr<spdlog::logger>& current() {
  static std::shared_ptr<spdlog::logger> logger = make({});
  return logger;
}

}  // namespace

void open(const std::string& path) {
  current() = make(path);
}

void write(Level level, std::string_view message, Fields fields) {
  current()->log(toSpdlog(level), line(message, fields));
}

}  // namespace divvy::log
