// All pods of the scheduler cache, by UID: their states, and the effects of these. Private.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "annotations/device_metadata.h"
#include "base/result.h"
#include "cache/core_masks.h"
#include "cache/pod_state.h"
#include "engine/engine.h"
#include "quota/amounts.h"
#include "quota/resource_quota.h"

namespace divvy::scheduler {

// The amounts that a pod counts for the quota of its namespace.
struct QuotaCharge {
  std::string namespace_name;
  Amounts amounts;
};

// A transition, and its arguments. Pointers are for the time of the call.
struct PodChange {
  PodState to;
  // The pod's allocation from now on. Null: the present one.
  const engine::Allocation* allocation = nullptr;
  // The engine refuses `allocation` unless it fits this request now. Null: the engine records it,
  // even beyond its capacity.
  const engine::Request* request = nullptr;
  std::optional<QuotaCharge> charge = {};  // none: as before
  const kube::Pod* said = nullptr;         // for UnknownNodePod
};

// The only owner of entries. A pod without an entry is pending. transit() keeps the engine's
// allocations, the cores of devices, the quota and the indices in step with the state: a placed pod
// has exactly one allocation in the engine and is in the index of its node.
class PodTable {
 public:
  // Both outlive it. The caller adds no allocations of pods to the engine by itself, except gangs,
  // which follow by transit() at once.
  PodTable(engine::Engine& engine, ResourceQuotaTracker& quotas);

  // Changes the pod's state. kInternal: the table of transitions (pod_state.h) does not have it,
  // and a bug is in the caller; otherwise as Engine::reserve(), Engine::adopt(). After an error
  // nothing has changed. An allocation that the engine has dropped by itself (Engine::expire(),
  // Engine::removeNode()) need not be there any more.
  Result<void> transit(const std::string& uid, PodChange change);
  // Makes the pod pending, and forgets its details except `resizing`. Its nomination stays. Returns
  // true if the engine had an allocation.
  bool release(const std::string& uid);
  // Replaces a bound pod's allocation, until the resize is done. Errors: as Engine::resize().
  Result<void> resize(const std::string& uid, const engine::Placement& placement,
                      QuotaCharge charge);
  // As CoreMasks::assignCores().
  Result<void> assignCores(const std::string& uid, const std::vector<bool>& ends,
                           const DeviceMetadataMap& devices, engine::Placement* placement);

  // Records a nomination; transit() makes the pod nominated.
  void setNomination(const std::string& uid, Nomination nomination);
  // Removes the record; the pod's state stays. Returns true if there was one.
  bool clearNomination(const std::string& uid);
  // Removes the nominations that expire at `now` or before.
  void expireNominations(engine::Instant now);
  // Makes a pending pod with a nomination nominated, if its node is known.
  void restoreNomination(const std::string& uid);

  // Null: pending, and nothing is known. Valid until the pod changes.
  const PodEntry* find(const std::string& uid) const;
  PodState stateOf(const std::string& uid) const;
  // Returns details to be changed; adds the pod if need be. Valid until the pod is released.
  PodDetails& details(const std::string& uid);
  // Null: the pod is not placed. Valid until the engine changes.
  const engine::Allocation* allocationOf(const std::string& uid) const;
  // Returns the pods' allocations on the node, by UID; pods on an unknown node last.
  std::vector<engine::Allocation> heldOn(const std::string& node) const;
  // Returns UIDs of the node's pods that are on an unknown node, ascending.
  std::vector<std::string> unknownOn(const std::string& node) const;
  const std::unordered_map<std::string, PodEntry>& all() const { return entries_; }
  // Returns the number of transitions that were refused with kInternal.
  std::size_t refused() const { return refused_; }

 private:
  using NodeIndex = std::unordered_map<std::string, std::set<std::string>>;

  Result<void> moveAllocation(const std::string& uid, PodState from, const PodChange& change);
  void reindex(const std::string& uid, const PodChange& change, PodEntry* entry);
  void eraseIfEmpty(const std::string& uid);

  engine::Engine& engine_;
  ResourceQuotaTracker& quotas_;
  CoreMasks masks_;
  std::unordered_map<std::string, PodEntry> entries_;  // by UID
  NodeIndex placed_, unknown_;                         // UIDs by node
  std::set<std::string> nominations_;                  // UIDs of pods with a nomination
  std::size_t refused_ = 0;
};

}  // namespace divvy::scheduler
