// Nodes and their devices, as their reporter describes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "engine/partition.h"
#include "engine/units.h"

namespace divvy::engine {

using NodeName = Name<struct NodeNameKind>;
using DeviceUuid = Name<struct DeviceUuidKind>;
using ModelName = Name<struct ModelNameKind>;
// A kind of device by its vendor's name, as requests name it: "NVIDIA", "Ascend910B4".
using DeviceKind = Name<struct DeviceKindKind>;
using NicName = Name<struct NicNameKind>;
using RequestId = Name<struct RequestIdKind>;
using PoolName = Name<struct PoolNameKind>;
// The requester, as pools name it: a namespace, a queue, a user of the machine.
using UserName = Name<struct UserNameKind>;

enum class Health : std::uint8_t { kHealthy, kUnhealthy };

// How a device is used now. Placement respects it and never changes it.
enum class Mode : std::uint8_t {
  kShared,     // by as many tenants as it has slots
  kExclusive,  // by one tenant
  kMig,        // in partitions: not as a whole, and not by time
  kMps,        // like kShared, by the driver's own means
  kExternal,   // held from outside: never given
  kWhole,      // by one tenant that asks for all of it, memory in percent: no limits apply
};

inline constexpr std::uint32_t kNoOvercommit = 1000;

// How much of a device's memory may be promised.
struct OvercommitPolicy {
  Bytes foreign;  // used by processes that are no tenants
  Bytes budget;   // for all tenants at once; 0: all that foreign use leaves
  // Bytes that may be promised for each 1000 bytes that tenants may have: 1000 to 4000.
  std::uint32_t overcommit_permille = kNoOvercommit;
  Bytes context;          // cost of one tenant's context; 0: not known
  bool host_map = false;  // memory of a tenant that is not on the device can be used from the host
  friend bool operator==(const OvercommitPolicy&, const OvercommitPolicy&) = default;
};

// The meaning of requested compute on a device.
enum class ComputeRule : std::uint8_t {
  kBound,   // sums to at most the device's compute
  kWeight,  // of busy tenants; may sum to more, and refuses no tenant
};

// A place in a row of devices. Several devices of a kind are taken in a run of places.
struct InRow {
  std::uint32_t place = 0;
  // Accepted run lengths; a run of n starts at a multiple of n. Empty: any number from anywhere.
  std::vector<std::uint32_t> runs;
};

struct Device {
  DeviceUuid uuid;
  ModelName model;
  Bytes memory;  // physical
  Compute compute = kWholeDevice;
  std::uint32_t slots = 10;  // most tenants
  Health health = Health::kHealthy;
  bool cordoned = false;  // keeps its allocations, gets no new ones
  Mode mode = Mode::kShared;
  std::optional<unsigned> numa;
  DeviceKind kind;  // empty: none; only for requests of any kind
  OvercommitPolicy terms = {};
  ComputeRule compute_rule = ComputeRule::kBound;
  // Null: it cannot be split. With slices, it can be split while it is in MIG mode; without slices,
  // while it is not. A device with memory terms cannot be split.
  std::shared_ptr<const Partitioning> parting = nullptr;
  // Devices of a kind and node with the same number are taken together, all or none (the two of an
  // Ascend 910C module). Partitions of them are taken one by one.
  std::optional<std::uint32_t> block = {};
  // For whole devices and shares by time; partitions are taken one by one.
  std::optional<InRow> row = {};
};

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

inline constexpr std::size_t kMaxDevicesPerNode = 64;

// A connection of two devices that is better than through the host; valid in both directions.
struct Link {
  DeviceUuid a;
  DeviceUuid b;
  std::uint32_t score = 0;  // higher is better, in the reporter's measure; at least 1
  bool direct = true;       // device to device (NVLink); else by PCIe switches
};

struct ByCount {
  std::uint32_t devices = 0;
  std::uint32_t value = 0;
};
struct Wing {
  std::vector<std::uint32_t> places;
};

// How well devices of one kind on this node work together, beyond their links, as reported for the
// node. Each kind at most once. Empty fields have no effect.
struct NodeScore {
  DeviceKind kind;
  // By the number of devices that a request takes: links lost by that, and their quality.
  std::vector<ByCount> losses, scores;
  // Groups that are best used up or left unused, by place in Node::devices.
  std::vector<Wing> wings;
  // Links of whole devices count for requests with a preference for links: those among its devices,
  // and those that it breaks.
  bool links = false;
  // HAMi's points if all devices of a request are linked with each other; in proportion for a part
  // of them. The engine's own policies use Preference.
  std::uint32_t together = 0;
};

// For RDMA.
struct Nic {
  NicName name;
  std::vector<std::uint32_t> distances;  // to each of Node::devices; less is nearer
};

struct Node {
  NodeName name;
  Cpu cpu;
  Bytes memory;
  std::vector<Device> devices;  // equally good ones are taken in this order
  std::vector<Label> labels;
  bool cordoned = false;
  // Host memory for the part of its devices' promised memory beyond their own.
  Bytes host_reserve = {};
  // Among equally good nodes the lowest value goes first. Default: a hash of the name, the same in
  // every process, and independent of the order in which nodes came.
  std::optional<std::uint64_t> order;
  std::vector<Link> links;  // each pair at most once; the score of all other pairs is 0
  std::vector<Nic> nics;
  std::vector<NodeScore> merits;
};

}  // namespace divvy::engine
