// How the service speaks, and how it ends where it cannot go on. Private.
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

// What of each object is not heeded: said when it is another than before.
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

// Out of the loop: a service that has lost a part of itself has to begin anew.
inline void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace divvy::scheduler
