// Which devices a node has, as its annotation says it. Source: facts on the incumbent's control
// plane, 2.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

struct RegisteredPlace {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  friend bool operator==(const RegisteredPlace&, const RegisteredPlace&) = default;
};

// An instance (MIG), or a slice (DRS), that a device can have.
struct RegisteredProfile {
  std::string name;
  std::uint64_t mebibytes = 0;
  std::uint32_t cores = 0;  // percent
  std::uint32_t slices = 0;
  std::vector<RegisteredPlace> places;
  std::string id = {};  // of a DRS profile
  friend bool operator==(const RegisteredProfile&, const RegisteredProfile&) = default;
};

struct RegisteredDevice {
  std::string id;
  std::uint32_t index = 0;
  std::uint32_t count = 0;      // tenants at most
  std::uint64_t mebibytes = 0;  // that may be promised
  std::uint32_t cores = 0;      // percent that may be promised; of AMD compute units
  std::string type;
  std::uint32_t numa = 0;
  std::string mode;    // "hami-core", "mig", "mps"; empty is the first
  std::string vendor;  // the kind's word; empty: whose annotation it is
  bool healthy = false;
  std::string minor;       // of DRS
  std::uint32_t zone = 0;  // those of one are linked with each other; 0: in none
  std::vector<RegisteredProfile> profiles;
  friend bool operator==(const RegisteredDevice&, const RegisteredDevice&) = default;
};

// Of a device's type, or model, that is an instance's: which, as names of resources have it, where
// there is no plus ("1g.10gb.me"). Empty: it is none's. Source: NVML's names of MIG devices.
std::string profileIn(std::string_view type);

// As JSON: what is 0, false or empty is left out. Members that are not known are left.
// kCorrupt: which device and member, what was expected.
std::string encode(const std::vector<RegisteredDevice>& devices);
Result<std::vector<RegisteredDevice>> decodeRegistration(std::string_view text);
// The older form: "ID,COUNT,MEMORY,CORES,TYPE,NUMA,HEALTH[,INDEX,MODE]:" for each device.
Result<std::vector<RegisteredDevice>> decodeRegistrationList(std::string_view text);
// MetaX' own: devices with uuid, model, totalDevCount, totalCompute, totalVRam, numa, healthy,
// linkZone.
Result<std::vector<RegisteredDevice>> decodeRegistrationMetax(std::string_view text);
// Enflame's: devices with index, minor, capacity (tenants), and the profiles of all of them:
// "3g.20gb" is three slices that have 20 GiB. Such devices have no ids, and are healthy. They have
// as much memory as the largest profile.
Result<std::vector<RegisteredDevice>> decodeRegistrationDrs(std::string_view text);

}  // namespace divvy::kube
