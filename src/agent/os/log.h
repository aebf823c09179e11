// The agent's diary: one line per event, bounded in size. One thread.
#pragma once

#include <string>

namespace divvy::agent {

enum class Level { kInfo, kWarning, kError };

// Lines go to `path` from now on (rotated at 1 MiB, one old file kept), or to stderr when it is
// empty. Falls back to stderr where the file cannot be written.
void openLog(const std::string& path);
void say(Level level, const std::string& line);
inline void info(const std::string& line) {
  say(Level::kInfo, line);
}
inline void warn(const std::string& line) {
  say(Level::kWarning, line);
}

}  // namespace divvy::agent
