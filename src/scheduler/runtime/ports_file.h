// The file with the bound ports, for a caller that starts the service with port 0. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace divvy::scheduler {

struct Ports {
  std::uint16_t extender = 0, webhook = 0, metrics = 0;  // 0: none
};

// Writes the ports as JSON, atomically. `path`: empty: writes nothing. kIo: it cannot be written.
Result<void> writePorts(const std::string& path, const Ports& ports);

}  // namespace divvy::scheduler
