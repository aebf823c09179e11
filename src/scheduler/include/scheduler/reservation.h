// Reservations that are made before kube-scheduler filters the pod.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::scheduler {

// A pod's reservation, as its binding will write it.
struct Reservation {
  std::string node;
  kube::Labels annotations;
};

// An amount of devices of one model.
struct ModelUsage {
  std::string model;
  std::int64_t milli = 0;      // thousandths of a device's compute
  std::int64_t mebibytes = 0;  // device memory
  friend bool operator==(const ModelUsage&, const ModelUsage&) = default;
};

}  // namespace divvy::scheduler
