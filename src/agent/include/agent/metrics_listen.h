// Where Prometheus finds an agent's /metrics.
#pragma once

#include <cstdint>
#include <string>

namespace divvy::agent {

struct MetricsListen {
  std::string host = "127.0.0.1";
  std::uint16_t port = 9394;  // 0: any that is free; the log says which
  bool hami = false;          // under the names of HAMi's monitor, too
};

}  // namespace divvy::agent
