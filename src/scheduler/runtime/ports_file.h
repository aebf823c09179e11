// The file that says which ports a service has, for whoever began it with any. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace divvy::scheduler {

struct Ports {
  std::uint16_t extender = 0, webhook = 0, metrics = 0;  // 0: none
};

// Whole or not at all; nothing where `path` is empty. kIo: it cannot be written.
Result<void> writePorts(const std::string& path, const Ports& ports);

}  // namespace divvy::scheduler
