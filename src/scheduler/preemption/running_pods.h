// Running pods by node, with or without devices: their amounts as kube-scheduler counts them, and
// whether they may be victims. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/units.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// A pod's requests of its node beside devices.
struct PodResources {
  engine::Cpu cpu;
  Bytes memory;
  friend auto operator<=>(const PodResources&, const PodResources&) = default;
};

// Returns a pod's requests as kube-scheduler adds them up: the maximum over its containers' run,
// and the pod's overhead. At most engine::kMaxCpu and kMaxBytes, so that sums over all pods do not
// overflow. kUsage: which quantity cannot be read or is negative.
Result<PodResources> podResources(const kube::Pod& pod);

struct RunningPod {
  std::string uid, namespace_name, name, node;
  kube::Labels labels;
  PodResources resources;
  std::int64_t priority = 0;
  std::int64_t placed_at = 0;  // seconds since 1970
  std::int64_t grace = 0;      // seconds, termination grace period
  std::string group;           // key of the gang, which is evicted as a whole; empty: none
  bool terminating = false;    // deletion has started
  bool started = false;        // not pending, so disruption budgets cover it
  // Never a victim: its annotations protect it or cannot be read, its resources cannot be read, or
  // eviction would change nothing (pods of a DaemonSet, mirror pods).
  bool fixed = false;
  std::optional<std::int64_t> min_runtime;  // seconds, from its annotation
};

class RunningPods {
 public:
  // Adds or updates a pod. Removes it if it has no node or has ended. kUsage names the unreadable
  // part; the pod is kept, and is `fixed` unless only its gang cannot be read.
  Result<void> set(const kube::Pod& pod);
  void remove(const std::string& uid);
  // Marks an evicted pod as terminating. It stays so although the API server may still send its
  // state from before.
  void markTerminating(const std::string& uid);

  // Pointers are valid until the pod is set or removed.
  const RunningPod* find(const std::string& uid) const;                    // null: not there
  std::vector<const RunningPod*> on(const std::string& node) const;        // ascending by UID
  std::vector<const RunningPod*> inGroup(const std::string& group) const;  // ascending by UID
  std::vector<std::string> terminating() const;                            // UIDs, ascending
  // Returns true if a pod has a lower priority.
  bool anyBelow(std::int64_t priority) const;

 private:
  void forget(const std::string& uid);

  std::unordered_map<std::string, RunningPod> all_;            // by UID
  std::unordered_map<std::string, std::set<std::string>> on_;  // by node: UIDs
  std::map<std::string, std::set<std::string>> groups_;
  std::map<std::int64_t, std::size_t> priorities_;  // number of pods by priority
  std::set<std::string> terminating_;               // UIDs
};

}  // namespace divvy::scheduler
