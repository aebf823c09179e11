// The files of the openb trace: nodes and pods of a production cluster, as published. Pure.
// Source: data/csv of hkust-adsl/kubernetes-scheduler-simulator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::simulator {

// A node of the trace.
struct OpenbNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::string model;  // of its GPUs; empty only if there are none
};

// A pod of the trace.
struct OpenbPod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;
  std::int32_t gpu_milli = 0;  // of each GPU, in thousandths
  std::string models;          // accepted models, joined by '|'; empty: any
};

// Parse a whole file of nodes, or of pods. `file`: its name, for messages. kUsage: a cell that is
// not accepted, with "FILE:LINE:COLUMN: the cell; the accepted values".
Result<std::vector<OpenbNode>> parseOpenbNodes(std::string_view text, const std::string& file);
Result<std::vector<OpenbPod>> parseOpenbPods(std::string_view text, const std::string& file);

}  // namespace divvy::simulator
