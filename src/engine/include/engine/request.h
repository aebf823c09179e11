// The needs of a request: containers, their shares of devices, and the accepted devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/device_policy.h"
#include "engine/model.h"
#include "engine/policy.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// Percent of the memory of the device that is chosen.
struct Percent {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Percent, Percent) = default;
};
using DeviceMemory = std::variant<Bytes, Percent>;

// From each of `count` different devices of one node.
struct DeviceRequest {
  std::uint32_t count = 0;
  DeviceMemory memory = Bytes{};
  // None: all that other tenants leave. The whole device: no other tenant on it.
  Compute compute = {};
  DeviceKind kind = {};  // empty: any
  // The part of `memory` that is never swapped. None: all of it on devices without overcommit,
  // nothing on devices with overcommit.
  std::optional<DeviceMemory> guarantee = {};
  // Asks for partitions, then from any devices: `count` of this partition. Empty name: the smallest
  // with the memory and compute. None: devices, or shares of them by time.
  std::optional<PartName> part = {};
  friend auto operator<=>(const DeviceRequest&, const DeviceRequest&) = default;
};

struct Container {
  Cpu cpu;
  Bytes memory;
  DeviceRequest devices;
  // Devices of further kinds. Then all asks of a container name a kind, each a different one.
  std::vector<DeviceRequest> others = {};
  bool sidecar = false;  // of `Shape::init`: goes on beside all later containers
  friend auto operator<=>(const Container&, const Container&) = default;
};

// Compared without regard to the case of ASCII letters.
enum class ModelMatch : std::uint8_t {
  kContains,  // any part of the name, as in HAMi's annotations: "H20" is in "H200"
  kExact,
  kWords,  // as divvy::namesModel(): "H20" is in "NVIDIA-H20-96GB", not in "H200"
};
enum class UuidMatch : std::uint8_t {
  kExact,
  kPrefix,  // without regard to the case of letters
};

// Empty lists do not constrain. Exclusion overrides inclusion.
struct Selector {
  ModelMatch match = ModelMatch::kContains;
  std::vector<ModelName> models;
  std::vector<ModelName> not_models;
  std::vector<DeviceUuid> uuids;
  std::vector<DeviceUuid> not_uuids;
  UuidMatch uuid_match = UuidMatch::kExact;
  friend auto operator<=>(const Selector&, const Selector&) = default;
};

// Accepted devices of one kind; for that kind it replaces Shape::selector.
struct KindSelector {
  DeviceKind kind;
  Selector selector;
  friend auto operator<=>(const KindSelector&, const KindSelector&) = default;
};

// The class of a tenant on devices of a kind that restrict which classes may share a device. The
// description of the kind numbers the classes, from 1. The tenant may be placed on a device with
// tenants only of classes in `beside`.
inline constexpr std::uint8_t kSorts = 16;  // 0: no class; compatible with all
struct ColocationRule {
  DeviceKind kind;  // empty: all kinds
  std::uint8_t sort = 0;
  std::uint16_t beside = 0;  // bit n: class n
  friend auto operator<=>(const ColocationRule&, const ColocationRule&) = default;
};

// All that determines where a request may go; the same for its replicas.
struct Shape {
  std::vector<Container> init;        // one after the other, before `containers`; sidecars go on
  std::vector<Container> containers;  // all at once
  Selector selector;
  std::vector<KindSelector> by_kind = {};  // where it differs from `selector`; each kind once
  std::optional<Policy> policy;            // none: the engine's
  bool context_outside = false;  // contexts count in addition to the share, not as part of it
  bool unswappable = false;      // no memory can be swapped: all of it is guaranteed
  std::optional<DevicePolicy> devices = {};  // none: the engine's
  std::optional<Weights> weights = {};       // none: the engine's; not all are 0
  std::optional<UsageByHour> daily = {};     // none: all of the request, all day
  // None: the user's default pool, else devices in no pool. Empty name: devices in no pool.
  std::optional<PoolName> pool = {};
  // Each kind once, or one rule for all kinds. Kinds without a rule share devices with all classes.
  // If rules name kinds, each ask must name its kind.
  std::vector<ColocationRule> company = {};
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

struct Request {
  RequestId id;
  Shape shape;
  UserName user = {};  // for pools only
};

}  // namespace divvy::engine
