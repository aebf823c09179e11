#include "view/output.h"

#include <algorithm>
#include <cstdio>

namespace divvy::cli {

int fail(const Error& error) {
  std::fprintf(stderr, "divvy: %s\n", error.message().c_str());
  return error.code() == ErrorCode::kUsage ? 2 : 1;
}

void printNote(const std::string& note) {
  for (std::size_t at = 0; at < note.size();) {
    const std::size_t end = std::min(note.find('\n', at), note.size());
    if (end > at) std::fprintf(stderr, "divvy: %s\n", note.substr(at, end - at).c_str());
    at = end + 1;
  }
}

}  // namespace divvy::cli
