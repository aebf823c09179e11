// The agent's log: one line per event, bounded in size. One thread.
#pragma once

#include <string>

namespace divvy::agent {

enum class Level { kInfo, kWarning, kError };

// Writes lines to `path` from then on (rotated at 1 MiB, one old file kept), or to stderr if it is
// empty. Falls back to stderr if the file cannot be written.
void openLog(const std::string& path);
void say(Level level, const std::string& line);
inline void info(const std::string& line) {
  say(Level::kInfo, line);
}
inline void warn(const std::string& line) {
  say(Level::kWarning, line);
}

}  // namespace divvy::agent
