// Registration: the devices of a node, as an annotation. Source: facts on the incumbent's control
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

// A MIG instance or DRS slice that a device can have.
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
  std::uint64_t mebibytes = 0;  // that may be allocated
  std::uint32_t cores = 0;      // percent that may be allocated; for AMD compute units
  std::string type;
  std::uint32_t numa = 0;
  // "hami-core", "mig" or "mps"; empty: "hami-core".
  std::string mode;
  // The kind's word; empty: the kind that the annotation belongs to.
  std::string vendor;
  bool healthy = false;
  std::string minor;       // of DRS
  std::uint32_t zone = 0;  // devices of one zone are linked with each other; 0: no zone
  std::vector<RegisteredProfile> profiles;
  friend bool operator==(const RegisteredDevice&, const RegisteredDevice&) = default;
};

// Returns the profile in the type or model of a MIG instance, as resource names have it: without
// plus ("1g.10gb.me"). Empty: not an instance. Source: NVML's names of MIG devices.
std::string profileIn(std::string_view type);

// Write and read the annotation, in JSON. Members that are 0, false or empty are left out; zone,
// minor and profile IDs are not written. Unknown members are ignored. kCorrupt: the message names
// device, member and expected form.
std::string encode(const std::vector<RegisteredDevice>& devices);
Result<std::vector<RegisteredDevice>> decodeRegistration(std::string_view text);
// Decodes the older form: "ID,COUNT,MEMORY,CORES,TYPE,NUMA,HEALTH[,INDEX,MODE]:" for each device.
Result<std::vector<RegisteredDevice>> decodeRegistrationList(std::string_view text);
// Decodes MetaX' form: devices with uuid, model, totalDevCount, totalCompute, totalVRam, numa,
// healthy, linkZone.
Result<std::vector<RegisteredDevice>> decodeRegistrationMetax(std::string_view text);
// Decodes Enflame's form: devices with index, minor, capacity (tenants), and profiles for all of
// them. "3g.20gb" is a profile of three slices with 20 GiB. These devices have no IDs and are
// always healthy. Each has the memory of the largest profile.
Result<std::vector<RegisteredDevice>> decodeRegistrationDrs(std::string_view text);

}  // namespace divvy::kube
