// How the service speaks, and how it ends where it cannot go on. Private.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

namespace divvy::scheduler {

inline void say(const std::string& line) {
  std::fprintf(stderr, "divvy scheduler: %s\n", line.c_str());
}

// Out of the loop: a service that has lost a part of itself has to begin anew.
inline void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace divvy::scheduler
