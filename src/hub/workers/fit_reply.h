// What a worker cluster answers to a question (docs/reference/capacity.md). Pure. Private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::hub {

struct WorkloadFit {
  std::optional<bool> fits;  // none: the worker did not try
  std::string why;           // one line; may be empty
  bool never = false;        // it can never run there as it is
};

// `text`, or its beginning where it is too long to be shown for each workload.
std::string shortened(std::string text);

// Reads the answer to a list of `count` workloads. kCorrupt: it is none.
Result<std::vector<WorkloadFit>> workloadFitsOf(const std::string& text, std::size_t count);

}  // namespace divvy::hub
