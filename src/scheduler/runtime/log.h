// The service's log on stderr, and how it ends after an exception. Private.
#pragma once

#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace divvy::scheduler {

inline void logLine(const std::string& line) {
  std::fprintf(stderr, "divvy scheduler: %s\n", line.c_str());
}

// Warnings about parts of objects that do not count. Logs them for each object when they change.
class ChangedWarnings {
 public:
  void told(const std::string& object, std::vector<std::string> what) {
    std::vector<std::string>& before = before_[object];
    if (before != what)
      for (const std::string& one : what) logLine(object + ": " + one + "; it does not count");
    before = std::move(what);
    if (before.empty()) before_.erase(object);
  }

 private:
  std::map<std::string, std::vector<std::string>> before_;
};

// Throws a coroutine's exception out of the event loop: the service has to restart if one part of
// it has failed.
inline void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace divvy::scheduler
