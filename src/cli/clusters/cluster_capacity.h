// The free capacity of a cluster, as its scheduler states it (docs/reference/capacity.md).
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace divvy::cli {

struct ModelCapacity {
  std::string model;
  std::uint64_t devices = 0, healthy = 0, idle = 0;
  std::uint64_t memory_bytes = 0, allocated_bytes = 0;
};

// How many more pods fit. None: the scheduler has not counted them.
struct FitCount {
  std::optional<std::uint64_t> fit;
  std::optional<std::uint64_t> after_eviction;  // of pods of lower priority
};

struct ClusterCapacity {
  std::string name;        // of the context
  std::string problem;     // why the rest is not known; empty: it is
  std::int64_t at_ms = 0;  // since 1970, by the cluster's clock
  std::vector<ModelCapacity> models;
  boost::json::object report;     // as the scheduler answered
  std::optional<FitCount> asked;  // of the question; none: nothing was asked, or see `problem`
};

// Reads a report. kCorrupt: the text is none, or of another version.
Result<ClusterCapacity> capacityOf(const std::string& text);
// Reads the answer to a question. kCorrupt: it is none.
Result<FitCount> fitCountOf(const std::string& text);

}  // namespace divvy::cli
