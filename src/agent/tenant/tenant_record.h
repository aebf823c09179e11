// The agent's own note about one tenant, kept in its directory so that a successor can carry on.
#pragma once

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
  Bytes limit;         // what the tenant may use
  Bytes reserve;       // what leaves the card's free memory for it
  unsigned cores = 0;  // percent of this device
  Bytes guarantee;     // of the limit, there at any time; all of it: never swapped
  friend bool operator==(const ShareRecord&, const ShareRecord&) = default;
};

// A container of a pod. Empty: none.
struct PodContainer {
  std::string uid;  // the pod's
  std::string space;
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
  PodContainer lodger;  // instead of one: it lives as long as the pod
  // Of a container that no kubelet made: its processes are those that see its pages where
  // containers have theirs.
  bool contained = false;
  bool kept = false;     // there until it is released, whoever uses it
  std::string cdi_file;  // by which runtimes know it; empty: none
  int command_pid = 0;
  std::int64_t created = 0;     // seconds since 1970
  std::int64_t created_ms = 0;  // the same; 0: by an agent that did not note it
  bool context_inside = true;
  OnPressure on_pressure = OnPressure::kOom;
  std::uint64_t pressure_wait_ms = kPressureWaitMs;
  CheckpointPhase checkpoint = CheckpointPhase::kHere;
  IdleRequest idle;
  std::int64_t counted = 0;  // seconds since 1970: its gate was never open since. 0: nobody knows
  std::string pool;          // in which its devices were given; empty: in none
  bool alone = false;        // it keeps others off them
  std::string user;          // who asked
  std::optional<engine::DevicePolicy> devices;      // as it asked
  std::optional<engine::UsageByHour> expected_use;  // likewise
  std::vector<std::string> command;
  std::vector<std::string> models, uuids;  // where it may be, as it asked
  std::vector<ShareRecord> shares;
  // By UUID of a device: the largest reserve of a share that was made smaller since, until the
  // driver sees that the tenant has less. noteShrunk() and Shrinking keep it.
  std::map<std::string, Bytes> stood;

  bool ofPod() const { return !lodger.uid.empty(); }
  // Its processes have namespaces of their own.
  bool inContainer() const { return contained || ofPod(); }
};

// To be called before `record.shares` becomes `shares`, of the same devices in the same order.
void noteShrunk(TenantRecord& record, const std::vector<ShareRecord>& shares);

// What a tenant may have of that share's device by the agent's own words: its reserve, or what
// stood.
Bytes mostStood(const TenantRecord& record, const ShareRecord& share);

// Writes <dir>/tenant.json whole: to a temporary file in `dir`, then renamed.
Result<void> saveRecord(const std::string& dir, const TenantRecord& record);

// kNotFound when there is none, kCorrupt (naming the file and the fault) when it cannot be used.
Result<TenantRecord> loadRecord(const std::string& dir);

}  // namespace divvy::agent
