// Named sets of devices: training here, inference there; who may use them, and on what terms.
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

// A device is one if it is what every list says that is not empty. All are empty: every device.
struct Members {
  std::vector<Label> labels;    // of its node: all of these
  std::vector<NodeName> nodes;  // on one of these
  ModelMatch match = ModelMatch::kContains;
  std::vector<ModelName> models;  // of one of these
  UuidMatch uuid_match = UuidMatch::kExact;
  std::vector<DeviceUuid> uuids;  // one of these
  friend bool operator==(const Members&, const Members&) = default;
};

// What is not said is as the device or the engine has it.
struct Pool {
  PoolName name;
  Members members;
  // kShared or kExclusive. Devices in MIG mode, those of somebody else, and those
  // that are given as a whole only stay what they are.
  std::optional<Mode> mode = {};
  // Where a request does not say.
  std::optional<Policy> policy = {};
  std::optional<DevicePolicy> devices = {};
  std::optional<Weights> weights = {};
  // MemoryTerms::overcommit_permille; not of devices that can be split into parts.
  std::optional<std::uint32_t> overcommit_permille = {};
  std::vector<UserName> users = {};       // who may ask for it; empty: everybody
  std::vector<UserName> default_of = {};  // who gets it without asking for any pool; of `users`
  friend bool operator==(const Pool&, const Pool&) = default;
};

// Who has a device that is in another pool by now than when it was given. It stays; until it ends
// nobody else is let onto that device.
struct FormerPoolTenant {
  RequestId id;
  DeviceUuid uuid;
  PoolName given_in;  // empty: in none
  PoolName pool;      // now; likewise
  friend bool operator==(const FormerPoolTenant&, const FormerPoolTenant&) = default;
};

}  // namespace divvy::engine
