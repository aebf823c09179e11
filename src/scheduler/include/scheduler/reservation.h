// Places that are decided before kube-scheduler asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::scheduler {

// What a pod was promised, in the words in which its binding will say it.
struct Reservation {
  std::string node;
  kube::Labels annotations;
};

// So much of devices of one model: thousandths of their compute, MiB of their memory.
struct ModelUsage {
  std::string model;
  std::int64_t milli = 0;
  std::int64_t mebibytes = 0;
  friend bool operator==(const ModelUsage&, const ModelUsage&) = default;
};

}  // namespace divvy::scheduler
