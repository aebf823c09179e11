// Named sets of devices (training here, inference there): which users may use them, and with which
// settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device_policy.h"
#include "engine/policy.h"
#include "engine/request.h"

namespace divvy::engine {

inline constexpr std::size_t kMaxPools = 256;

// A device belongs if it matches every list that is not empty. If all are empty, every device
// belongs.
struct Members {
  std::vector<Label> labels;    // of its node: all of these
  std::vector<NodeName> nodes;  // on one of these
  ModelMatch match = ModelMatch::kContains;
  std::vector<ModelName> models;  // of one of these
  UuidMatch uuid_match = UuidMatch::kExact;
  std::vector<DeviceUuid> uuids;  // one of these
  friend bool operator==(const Members&, const Members&) = default;
};

// Unset fields leave the setting of the device or engine.
struct Pool {
  PoolName name;
  Members members;
  // kShared or kExclusive. Does not apply to devices in MIG mode, to devices held from outside, and
  // to those that are given as a whole only.
  std::optional<Mode> mode = {};
  // Defaults for requests that do not set them.
  std::optional<Policy> policy = {};
  std::optional<DevicePolicy> devices = {};
  std::optional<Weights> weights = {};
  // MemoryTerms::overcommit_permille; not for devices that can be split into partitions.
  std::optional<std::uint32_t> overcommit_permille = {};
  std::vector<UserName> users = {};  // users that may ask for it; empty: all
  // Users that get it without asking for a pool; subset of `users`.
  std::vector<UserName> default_of = {};
  friend bool operator==(const Pool&, const Pool&) = default;
};

// A tenant of a device that is in another pool now than when it was given. It stays; until it ends
// no other tenant may use that device.
struct FormerPoolTenant {
  RequestId id;
  DeviceUuid uuid;
  PoolName given_in;  // empty: in none
  PoolName pool;      // now; empty: in none
  friend bool operator==(const FormerPoolTenant&, const FormerPoolTenant&) = default;
};

}  // namespace divvy::engine
