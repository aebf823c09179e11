// Which devices of a node, of those that would do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/model.h"

namespace divvy::engine {

// Which go first.
enum class DeviceOrder : std::uint8_t {
  kTightest,  // as the node's policy has it (fgd, divvy), else least left over
  kBinpack,   // most used, by UseWeights
  kSpread,    // least used
};

// How much each part of a device counts for how much of it is used.
struct UseWeights {
  std::uint32_t slots = 1;
  std::uint32_t compute = 1;
  std::uint32_t memory = 1;
  friend auto operator<=>(const UseWeights&, const UseWeights&) = default;
};

enum class Preference : std::uint8_t {
  kNone,
  kPreferred,  // where there is a way; a node that has one goes before all that have not
  kRequired,   // refused where there is none
};

// The devices of each container by themselves. One device is always directly linked, and is of one
// NUMA node if that is known.
struct DevicePolicy {
  DeviceOrder order = DeviceOrder::kTightest;
  UseWeights use = {};  // of kBinpack and kSpread; not all are 0
  // Only devices that nobody is on, another container of the request neither; nobody else comes.
  bool mutex = false;
  Preference numa = Preference::kNone;  // all of one NUMA node, which is known
  Preference links =
      Preference::kNone;  // the highest sum of link scores; required: each with each directly
  NicName nic;            // the nearest to this one, which has to be there; empty: any
  friend auto operator<=>(const DevicePolicy&, const DevicePolicy&) = default;
};

// "mutex,numa-strict,spread": tightest, binpack, spread, mutex, numa, numa-strict, topology-aware,
// link-strict and nic=NAME, in any order. kUsage says which are accepted.
Result<DevicePolicy> parseDevicePolicy(std::string_view text);
std::string text(const DevicePolicy& policy);

}  // namespace divvy::engine
