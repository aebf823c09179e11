// The workloads that run now, from the rows of shares. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rows/list_row.h"

namespace divvy::console {

// The shares of one container of a workload (cluster), or of one name (machine).
struct RunningWorkload {
  // A share's part of a device.
  struct Part {
    std::uint64_t limit_bytes = 0;
    double cores_percent = 0;
    std::uint64_t device_bytes = 0;  // memory of the device; 0: not known
    std::string model;               // empty: not known
  };

  std::string namespace_name, owner, container, team, queue;  // empty: none
  std::size_t shares = 0;
  std::vector<Part> parts;                  // of all shares
  std::uint64_t limit_bytes = 0;            // the largest of the parts
  double cores_percent = 0;                 // the same
  std::optional<std::uint64_t> used_bytes;  // the same; now
  std::optional<std::uint64_t> idle_ms;     // the shortest; absent: of one it is not known
  bool engine_reserves = false;             // reservesMemory() of one of them
};
using RunningWorkloads = std::map<std::string, RunningWorkload>;  // by key (rows/workload_key.h)

// `shares` and `devices`: rows of a view. `namespace_name`: only its shares; empty: all.
RunningWorkloads runningWorkloads(const SharedRows& shares, const SharedRows& devices,
                                  bool of_cluster, const std::string& namespace_name);

}  // namespace divvy::console
