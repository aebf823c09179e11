// The only user of spdlog, which is slow to compile.
#include "os/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace divvy::agent {
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

}  // namespace

void openLog(const std::string& path) {
  spdlog::sink_ptr sink;
  try {
    if (!path.empty())
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kMaxBytes, kOldFiles);
  } catch (const spdlog::spdlog_ex&) {
    // A full or read-only disk must not stop the agent.
  }
  if (sink == nullptr) sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  auto logger = std::make_shared<spdlog::logger>("agent", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::info);
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
}

void say(Level level, const std::string& line) {
  spdlog::default_logger_raw()->log(toSpdlog(level), line);
}

}  // namespace divvy::agent
