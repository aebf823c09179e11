// What somebody wants: containers, what each takes of devices, and which devices will do.
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

// Of the memory of whichever device it is.
struct Percent {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Percent, Percent) = default;
};
using DeviceMemory = std::variant<Bytes, Percent>;

// Of each of `count` different devices of one node.
struct DeviceAsk {
  std::uint32_t count = 0;
  DeviceMemory memory = Bytes{};
  // None: whatever the others leave. The whole device: nobody else on it.
  Compute compute = {};
  DeviceKind kind = {};  // empty: any
  // Of `memory`, what is never swapped. None: all of it on devices whose memory is promised once,
  // nothing on others.
  std::optional<DeviceMemory> guarantee = {};
  // Parts as the hardware makes them, then of any devices: so many of that one; without a name the
  // smallest that has the memory and the compute. None: devices, or shares of them by time.
  std::optional<PartName> part = {};
  friend auto operator<=>(const DeviceAsk&, const DeviceAsk&) = default;
};

struct Container {
  Cpu cpu;
  Bytes memory;
  DeviceAsk devices;
  // Of further kinds: all of a container's asks name one then, each another.
  std::vector<DeviceAsk> others = {};
  bool sidecar = false;  // of `Shape::init`: goes on beside all that come after it
  friend auto operator<=>(const Container&, const Container&) = default;
};

// ASCII letters of either case are the same.
enum class ModelMatch : std::uint8_t {
  kContains,  // any part of the name, as HAMi's annotations have it: "H20" is in "H200"
  kExact,
  kWords,  // as divvy::namesModel(): "H20" is in "NVIDIA-H20-96GB", not in "H200"
};
enum class UuidMatch : std::uint8_t {
  kExact,
  kPrefix,  // letters of either case are the same
};

// Empty lists do not constrain. What is excluded is excluded even if it is included too.
struct Selector {
  ModelMatch match = ModelMatch::kContains;
  std::vector<ModelName> models;
  std::vector<ModelName> not_models;
  std::vector<DeviceUuid> uuids;
  std::vector<DeviceUuid> not_uuids;
  UuidMatch uuid_match = UuidMatch::kExact;
  friend auto operator<=>(const Selector&, const Selector&) = default;
};

// Which devices of one kind will do; of that kind nothing else counts.
struct KindSelector {
  DeviceKind kind;
  Selector selector;
  friend auto operator<=>(const KindSelector&, const KindSelector&) = default;
};

// What sort of tenant it is of devices of that kind, where these do not take everybody together:
// whoever describes the kind numbers the sorts, from 1 on. It may come to where all are of sorts
// that it may be beside.
inline constexpr std::uint8_t kSorts = 16;  // 0: of no sort, who is in nobody's way
struct ColocationRule {
  DeviceKind kind;  // empty: of all
  std::uint8_t sort = 0;
  std::uint16_t beside = 0;  // a bit each, by number
  friend auto operator<=>(const ColocationRule&, const ColocationRule&) = default;
};

// Everything that decides where a request may go and is the same for its replicas.
struct Shape {
  std::vector<Container> init;        // one after the other, before the others; sidecars go on
  std::vector<Container> containers;  // all at once
  Selector selector;
  std::vector<KindSelector> by_kind = {};  // where it is another than `selector`; each kind once
  std::optional<Policy> policy;            // none: the engine's
  bool context_outside = false;  // contexts count beside what is asked for, not as part of it
  bool unswappable = false;      // nothing of it can be swapped: all of it is guaranteed
  std::optional<DevicePolicy> devices = {};  // none: the engine's
  std::optional<Weights> weights = {};       // the same; not all are 0
  std::optional<UsageByHour> daily = {};     // none: all of what it asks, all day
  // None: the user's default, else what is in no pool; so too, without a default, an empty name.
  std::optional<PoolName> pool = {};
  // Each kind once, or one for all; of other kinds: with all. Where there are some of kinds each
  // ask names its own.
  std::vector<ColocationRule> company = {};
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

struct Request {
  RequestId id;
  Shape shape;
  UserName user = {};  // for pools only
};

}  // namespace divvy::engine
