// The agent's record of one tenant, in the tenant's directory: a successor recovers the tenant from
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforcement.h"
#include "agent/idle_policy.h"
#include "agent/process.h"
#include "agent/share_request.h"
#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/checkpoint_state_machine.h"

namespace divvy::agent {

struct ShareRecord {
  std::string uuid;
  Bytes limit;         // memory that the tenant may use
  Bytes reserve;       // amount subtracted from the card's free memory
  unsigned cores = 0;  // percent of this device
  Bytes guarantee;     // part of `limit`, always available; equal to it: never swapped
  friend bool operator==(const ShareRecord&, const ShareRecord&) = default;
};

// Whether the share's guarantee is below its limit.
inline bool swaps(const ShareRecord& share) {
  return share.guarantee < share.limit;
}

// A container of a pod. Empty: none.
struct PodContainer {
  std::string uid;  // the pod's
  std::string namespace_name;
  std::string pod;
  std::string container;
  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

struct TenantRecord {
  std::string id;
  std::string name;
  Priority priority = Priority::kNormal;
  CoresPolicy cores_policy = CoresPolicy::kShare;
  Backend backend = Backend::kInterposer;
  ProcessId holder;     // the `divvy run`
  PodContainer lodger;  // in place of a holder: the tenant lives as long as the pod
  // In a container that no kubelet made. The processes that have the tenant's control page mounted
  // are in it.
  bool contained = false;
  bool kept = false;     // lives until it is released
  std::string cdi_file;  // the runtimes' CDI file of the share; empty: none
  int command_pid = 0;
  std::int64_t created = 0;     // seconds since 1970
  std::int64_t created_ms = 0;  // milliseconds since 1970; 0: an older agent wrote the record
  bool context_inside = true;
  OnPressure on_pressure = OnPressure::kOom;
  std::uint64_t pressure_wait_ms = kPressureWaitMs;
  CheckpointPhase checkpoint = CheckpointPhase::kHere;
  IdleRequest idle;
  std::int64_t counted = 0;  // seconds since 1970: the gate was never open since; 0: unknown
  std::string pool;          // pool of the allocation; empty: none
  bool alone = false;        // shares its devices with no tenant
  std::string user;          // requester
  std::optional<engine::DevicePolicy> devices;      // as requested
  std::optional<engine::UsageByHour> expected_use;  // as requested
  std::vector<std::string> command;
  std::vector<std::string> models, uuids;  // filters of the request
  std::vector<ShareRecord> shares;
  // By device's UUID: the largest reserve of a share that was made smaller, until the driver
  // measures less. noteShrunk() raises a value; Shrinking lowers it.
  std::map<std::string, Bytes> stood;

  bool ofPod() const { return !lodger.uid.empty(); }
  // Whether its processes have namespaces of their own.
  bool inContainer() const { return contained || ofPod(); }
};

// Whether any memory of the tenant may be swapped.
inline bool swaps(const TenantRecord& record) {
  return arbiterGates(record.backend) &&
         std::any_of(record.shares.begin(), record.shares.end(),
                     [](const ShareRecord& share) { return swaps(share); });
}

// Call before `shares` replaces `record.shares`. Both have the same devices in the same order.
void noteShrunk(TenantRecord& record, const std::vector<ShareRecord>& shares);

// The most that the tenant may hold of the share's device: its reserve, or its value in `stood`.
Bytes mostStood(const TenantRecord& record, const ShareRecord& share);

// Writes <dir>/tenant.json atomically: to a temporary file in `dir`, then renamed.
Result<void> saveRecord(const std::string& dir, const TenantRecord& record);

// kNotFound: there is no record. kCorrupt: it is not usable; the message names file and fault.
Result<TenantRecord> loadRecord(const std::string& dir);

}  // namespace divvy::agent
