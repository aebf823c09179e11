// The openb trace's files: nodes and pods of a production cluster, as published.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::simulator {

struct OpenbNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::string model;  // empty only where there are none
};

struct OpenbPod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::int32_t gpu_milli = 0;  // of each
  std::string models;          // joined by '|'; empty: any
};

// All of it or nothing: kUsage says "FILE:LINE:COLUMN: what is there; what is accepted".
Result<std::vector<OpenbNode>> parseOpenbNodes(std::string_view text, const std::string& file);
Result<std::vector<OpenbPod>> parseOpenbPods(std::string_view text, const std::string& file);

}  // namespace divvy::simulator
