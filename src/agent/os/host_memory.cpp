#include "os/host_memory.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace divvy::agent {

Bytes hostAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  constexpr std::string_view kName = "MemAvailable:";
  while (std::getline(file, line)) {
    if (line.starts_with(kName))
      return kib(std::strtoull(line.c_str() + kName.size(), nullptr, 10));
  }
  return {};
}

}  // namespace divvy::agent
