// The console's own metrics. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "history/store.h"

namespace divvy::console {

struct ConsoleHealth {
  bool ready = false;  // agents were read, or nodes and pods of the cluster are known
  std::size_t sessions = 0, streams = 0;
  std::size_t sources = 0, failing_sources = 0;  // agents, or collections of the API server
  std::optional<double> data_age_s;              // of the rows; nothing: nothing has been read
  std::optional<double> loop_late_s;             // nothing: not measured yet
  history::StoreStatus history;
};

// Returns the metrics in Prometheus' text format (docs/operations/monitoring.md lists them). They
// name no object and no viewer.
std::string consoleMetrics(const ConsoleHealth& health);

}  // namespace divvy::console
