// What there is: nodes and their devices, as whoever reports them describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "engine/units.h"

namespace divvy::engine {

using NodeName = Name<struct NodeNameKind>;
using DeviceUuid = Name<struct DeviceUuidKind>;
using ModelName = Name<struct ModelNameKind>;
// What is asked for in one vendor's words: "NVIDIA", "Ascend910B4".
using DeviceKind = Name<struct DeviceKindKind>;
using RequestId = Name<struct RequestIdKind>;

enum class Health : std::uint8_t { kHealthy, kUnhealthy };

// How a device is used now; placement goes by it and never changes it.
enum class Mode : std::uint8_t {
  kShared,     // by as many tenants as it has slots
  kExclusive,  // by one tenant
  kMig,        // in partitions: not as a whole and not by time
  kMps,        // as kShared, by the driver's own means
  kExternal,   // held by somebody else: never
};

struct Device {
  DeviceUuid uuid;
  ModelName model;
  Bytes memory;
  Compute compute = kWholeDevice;
  std::uint32_t slots = 10;  // tenants at most
  Health health = Health::kHealthy;
  bool cordoned = false;  // keeps what it has, gets nothing new
  Mode mode = Mode::kShared;
  std::optional<unsigned> numa;
  DeviceKind kind;  // empty: none; only for those who ask for any kind
};

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

inline constexpr std::size_t kMaxDevicesPerNode = 64;

struct Node {
  NodeName name;
  Cpu cpu;
  Bytes memory;
  std::vector<Device> devices;  // in the order in which equally good ones are taken
  std::vector<Label> labels;
  bool cordoned = false;
  // Among equally good nodes the lowest goes first; by default a hash of the name, which is the
  // same for whoever asks, whenever the node came.
  std::optional<std::uint64_t> order;
};

}  // namespace divvy::engine
