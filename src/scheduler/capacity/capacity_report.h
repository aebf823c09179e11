// What a cluster says of its free capacity: devices by model, and how many more pods of each shape
// fit. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "capacity/shape_history.h"
#include "engine/replicas.h"
#include "scheduler/device_usage.h"

namespace divvy::scheduler {

// A shape, and how many more pods of it fit. None: not counted yet, or not on all nodes.
struct ShapeCapacity {
  RecentShape shape;
  std::optional<std::uint64_t> fit;
  // If the running pods of lower priority that may be evicted ended.
  std::optional<std::uint64_t> fit_after_eviction;
};

// Sums over devices, by model.
class ModelSums {
 public:
  void add(const DeviceUsage& device);
  // Returns a row for each of the models with the most devices. `left_out`: number of the others.
  boost::json::array rows(std::size_t& left_out) const;

 private:
  struct Sums {
    std::uint64_t devices = 0, healthy = 0, idle = 0;
    Bytes memory, allocated;
    std::int64_t compute = 0, allocated_compute = 0;
  };
  std::map<std::string, Sums> models_;
};

struct CapacityReport {
  std::string scheduler;   // its name
  std::string identity;    // of the replica that leads
  std::int64_t at_ms = 0;  // since 1970
  ModelSums models;
  std::vector<ShapeCapacity> shapes;  // the one of the most pods first
};

inline constexpr std::size_t kMaxReportBytes = 8 << 10;

// Returns the report as JSON of at most kMaxReportBytes: models beyond 16 and shapes without place
// are counted in `models_left_out` and `shapes_left_out`.
std::string reportText(const CapacityReport& report);

// Returns a shape as docs/reference/capacity.md describes it.
boost::json::object shapeObject(const RecentShape& shape);

}  // namespace divvy::scheduler
