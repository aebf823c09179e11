// What there is: nodes and their devices, as whoever reports them describes them.
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
// What is asked for in one vendor's words: "NVIDIA", "Ascend910B4".
using DeviceKind = Name<struct DeviceKindKind>;
using NicName = Name<struct NicNameKind>;
using RequestId = Name<struct RequestIdKind>;
using PoolName = Name<struct PoolNameKind>;
// Whoever asks, as pools name them: a namespace, a queue, a user of the machine.
using UserName = Name<struct UserNameKind>;

enum class Health : std::uint8_t { kHealthy, kUnhealthy };

// How a device is used now; placement goes by it and never changes it.
enum class Mode : std::uint8_t {
  kShared,     // by as many tenants as it has slots
  kExclusive,  // by one tenant
  kMig,        // in partitions: not as a whole and not by time
  kMps,        // as kShared, by the driver's own means
  kExternal,   // held by somebody else: never
  kWhole,      // by one tenant that asks for all of it, memory in percent: nothing of it is limited
};

inline constexpr std::uint32_t kNoOvercommit = 1000;

// What of a device's memory may be promised.
struct MemoryTerms {
  Bytes foreign;  // used by processes that are no tenants
  Bytes budget;   // for tenants at once; 0: all that others leave
  // What may be promised for each 1000 bytes that tenants may have: 1000 to 4000.
  std::uint32_t overcommit_permille = kNoOvercommit;
  Bytes context;          // what one tenant's context costs; 0: not known
  bool host_map = false;  // what of a tenant is not on the device can be used from the host
  friend bool operator==(const MemoryTerms&, const MemoryTerms&) = default;
};

// What compute that is asked for means on a device.
enum class ComputeRule : std::uint8_t {
  kBound,   // adds up to at most what it has
  kWeight,  // of those who are busy; may add up to more, nobody is refused for it or alone
};

// A place among neighbours: several devices of a kind are taken in a run of places.
struct InRow {
  std::uint32_t place = 0;
  // So many at a time, from a multiple of that on; empty: any number from anywhere.
  std::vector<std::uint32_t> runs;
};

struct Device {
  DeviceUuid uuid;
  ModelName model;
  Bytes memory;  // physical
  Compute compute = kWholeDevice;
  std::uint32_t slots = 10;  // tenants at most
  Health health = Health::kHealthy;
  bool cordoned = false;  // keeps what it has, gets nothing new
  Mode mode = Mode::kShared;
  std::optional<unsigned> numa;
  DeviceKind kind;  // empty: none; only for those who ask for any kind
  MemoryTerms terms = {};
  ComputeRule compute_rule = ComputeRule::kBound;
  // Null: it cannot be split. With slices: can be while it is in MIG mode, else while it is not.
  // What has terms of its memory cannot.
  std::shared_ptr<const Partitioning> parting = nullptr;
  // Those of a kind and node with the same number are taken together, all of them or none (the two
  // of an Ascend 910C module); parts of them are not.
  std::optional<std::uint32_t> block = {};
  std::optional<InRow> row = {};  // likewise
};

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

inline constexpr std::size_t kMaxDevicesPerNode = 64;

// A way between two devices that is better than through the host; for both directions.
struct Link {
  DeviceUuid a;
  DeviceUuid b;
  std::uint32_t score = 0;  // more is better, in the measure of whoever reports it; at least 1
  bool direct = true;       // from device to device (NVLink); else by switches of the PCIe bus
};

struct ByCount {
  std::uint32_t devices = 0;
  std::uint32_t value = 0;
};
struct Wing {
  std::vector<std::uint32_t> places;
};

// How well devices of one kind are taken together there, beyond their links, as whoever reports the
// node tells; each kind at most once. What is empty says nothing.
struct NodeScore {
  DeviceKind kind;
  // By how many of them a request takes: what is lost of links by that, and how good they are.
  std::vector<ByCount> losses, scores;
  // Groups that are best used up or not begun, by place in Node::devices.
  std::vector<Wing> wings;
  // Links of whole devices count for whoever wishes for links: between what it gets, and what is
  // torn by that.
  bool links = false;
  // HAMi's points for all of what a request gets being linked with each other; for a part of it
  // that part of them. The engine's own policies go by Wish.
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
  std::vector<Device> devices;  // in the order in which equally good ones are taken
  std::vector<Label> labels;
  bool cordoned = false;
  // For what is promised of its devices beyond what they have.
  Bytes host_reserve = {};
  // Among equally good nodes the lowest goes first; by default a hash of the name, which is the
  // same for whoever asks, whenever the node came.
  std::optional<std::uint64_t> order;
  std::vector<Link> links;  // each pair at most once; of others the score is 0
  std::vector<Nic> nics;
  std::vector<NodeScore> merits;
};

}  // namespace divvy::engine
