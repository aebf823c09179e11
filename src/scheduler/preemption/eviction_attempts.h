// Attempts of gated preemption in progress: for which pods, which victims, until when. Pure.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/quota.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Gated pods that start as a whole.
struct PodSet {
  std::string key;  // key of the gang, or UID of a single pod
  std::vector<kube::Pod> pods;
  std::string queue;  // empty: none

  std::set<std::string> uids() const;
};

// Which pods have to terminate for a PodSet, and where its pods go then.
struct GatedEvictionPlan {
  engine::ReclaimOptions options;    // possible victims, without ReclaimTerms::spared
  std::vector<std::string> victims;  // UIDs
  std::vector<engine::Placement> places;
  std::vector<ModelUsage> use;
};

struct EvictionAttempt {
  PodSet pod_set;
  GatedEvictionPlan plan;
  std::set<std::string> leaving;      // UIDs of victims, and of pods that terminate there
  std::vector<std::string> to_evict;  // UIDs of victims not evicted yet; the last is the next
  engine::Instant until{};            // end of the nominations
  std::string text;                   // for the pods' reasons
  std::uint64_t serial = 0;
};

// Not thread-safe. `cache` outlives it.
class EvictionAttempts {
 public:
  explicit EvictionAttempts(SchedulerCache& cache) : cache_(cache) {}

  // Adds the attempt and nominates its places until `attempt.until`. Sets its serial. Returns null
  // and nominates nothing if the cache refuses one of the places.
  const EvictionAttempt* add(EvictionAttempt attempt);
  // Removes the attempt and its nominations. Unknown keys are ignored.
  void remove(const std::string& key);
  void clear();

  // Null: no attempt.
  const EvictionAttempt* find(const std::string& key) const;
  // The attempt exists.
  EvictionAttempt& at(const std::string& key) { return all_.at(key); }
  std::map<std::string, EvictionAttempt>& all() { return all_; }
  const std::map<std::string, EvictionAttempt>& all() const { return all_; }
  std::size_t size() const { return all_.size(); }
  // Returns the keys of attempts for this pod.
  std::vector<std::string> keysOf(const std::string& uid) const;
  // Returns the keys of attempts with ended nominations.
  std::vector<std::string> expired(engine::Instant now) const;

  // Records pods that did not terminate in time: their node may be dead, or a finalizer hangs.
  void addStuck(const std::set<std::string>& uids) { stuck_.insert(uids.begin(), uids.end()); }
  // Forgets stuck pods that are gone.
  void pruneStuck(const RunningPods& running_pods);
  // Returns the UIDs of terminating pods, without stuck ones.
  std::set<std::string> terminating(const RunningPods& running_pods) const;
  // The same, and the victims of all attempts but that with `key`.
  std::set<std::string> terminatingBut(const std::string& key,
                                       const RunningPods& running_pods) const;

 private:
  SchedulerCache& cache_;
  std::map<std::string, EvictionAttempt> all_;  // by key of the pod set
  std::uint64_t serials_ = 0;
  std::set<std::string> stuck_;  // UIDs
};

}  // namespace divvy::scheduler
