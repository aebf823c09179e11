// Which of the devices of a node that fit a request are taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/model.h"

namespace divvy::engine {

// Which devices go first.
enum class DeviceOrder : std::uint8_t {
  kTightest,  // by the node's policy (fgd, divvy), else least left over
  kBinpack,   // most used, by UseWeights
  kSpread,    // least used
};

// Weights of the used parts of a device's slots, compute and memory.
struct UseWeights {
  std::uint32_t slots = 1;
  std::uint32_t compute = 1;
  std::uint32_t memory = 1;
  friend auto operator<=>(const UseWeights&, const UseWeights&) = default;
};

enum class Preference : std::uint8_t {
  kNone,
  kPreferred,  // where possible; a node where it is possible goes before all others
  kRequired,   // refused where it is impossible
};

// Applies to the devices of each container separately. A single device always counts as directly
// linked, and as of one NUMA node if its NUMA node is known.
struct DevicePolicy {
  DeviceOrder order = DeviceOrder::kTightest;
  UseWeights use = {};  // for kBinpack and kSpread; not all are 0
  // Only devices without tenants, not even another container of the request; no other tenant may
  // join.
  bool mutex = false;
  Preference numa = Preference::kNone;  // all on one NUMA node, which is known
  // The highest sum of link scores; required: all linked directly with each other.
  Preference links = Preference::kNone;
  NicName nic;  // devices nearest to this NIC, which must exist; empty: any
  friend auto operator<=>(const DevicePolicy&, const DevicePolicy&) = default;
};

// Parses words such as "mutex,numa-strict,spread", in any order: tightest, binpack, spread, mutex,
// numa, numa-strict, topology-aware, link-strict and nic=NAME. kUsage: the message lists them.
Result<DevicePolicy> parseDevicePolicy(std::string_view text);
std::string text(const DevicePolicy& policy);

}  // namespace divvy::engine
