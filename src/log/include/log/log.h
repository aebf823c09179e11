// The daemons' log for operators: one line per event, with the time, a level and facts as
// key=value.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace divvy::log {

enum class Level { kInfo, kWarning, kError };

// A fact about an event. `key` is lower_case and names a thing (pod, node, tenant, device, error).
struct Field {
  std::string_view key;
  std::string value;
};
using Fields = std::initializer_list<Field>;

// Writes lines to the file `path` from then on, rotated at 1 MiB with one old file kept. Writes to
// stderr if `path` is empty, if the file cannot be opened, and before the first call.
// Call it before other threads log.
void open(const std::string& path);

// Writes one line. Any thread. A write that fails is dropped: a full disk must not stop a daemon.
void write(Level level, std::string_view message, Fields fields = {});

inline void info(std::string_view message, Fields fields = {}) {
  write(Level::kInfo, message, fields);
}
inline void warn(std::string_view message, Fields fields = {}) {
  write(Level::kWarning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::kError, message, fields);
}

// The line without its time and level: `message key=value key="value with spaces"`. A value is
// quoted if it is empty or holds a space, a quote, an equals sign, a backslash or a control
// character. Control characters are written as \n, \t or \xNN, so that foreign text cannot start a
// line. The result has at most kMaxLine bytes; a longer one ends in "...".
inline constexpr std::size_t kMaxLine = 4096;
std::string line(std::string_view message, Fields fields);

}  // namespace divvy::log
