// Who is on which node, with or without devices: what kube-scheduler counts of them, and whether
// they may have to end for others. Pure. Private.
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

// What a pod takes of its node beside devices.
struct PodResources {
  engine::Cpu cpu;
  Bytes memory;
  friend bool operator==(const PodResources&, const PodResources&) = default;
};

// As kube-scheduler adds it up: the most at any time, and what the pod costs beside its containers.
// At most engine::kMaxCpu and kMaxBytes, so that sums over all pods do not overflow. kUsage: a
// quantity that is none.
Result<PodResources> podResources(const kube::Pod& pod);

struct RunningPod {
  std::string uid, space, name, node;
  kube::Labels labels;
  PodResources resources;
  std::int64_t priority = 0;
  std::int64_t placed_at = 0;  // seconds since 1970
  std::int64_t grace = 0;      // seconds that it has to end in
  std::string group;           // all of it end, or none; empty: on its own
  bool terminating = false;    // it has been told to end
  bool started = false;        // disruption budgets are about it
  bool fixed = false;          // nobody makes it end: it says so, or its end would change nothing
  std::optional<std::int64_t> min_runtime;  // seconds; its own word
};

class RunningPods {
 public:
  // As it is told of. Who is on no node, or has ended, is none. kUsage: what of it cannot be read;
  // then it is there, and never has to end.
  Result<void> set(const kube::Pod& pod);
  void remove(const std::string& uid);
  // It was told to end: from here on it is going, though the API server may tell of it as it was
  // before.
  void markTerminating(const std::string& uid);

  const RunningPod* find(const std::string& uid) const;
  std::vector<const RunningPod*> on(const std::string& node) const;  // in order of their UIDs
  std::vector<const RunningPod*> inGroup(const std::string& group) const;
  std::vector<std::string> terminating() const;  // UIDs of who has been told to end; ascending
  // Somebody is there who has less.
  bool anyBelow(std::int64_t priority) const;

 private:
  void forget(const std::string& uid);

  std::unordered_map<std::string, RunningPod> all_;            // by UID
  std::unordered_map<std::string, std::set<std::string>> on_;  // by node: UIDs
  std::map<std::string, std::set<std::string>> groups_;
  std::map<std::int64_t, std::size_t> priorities_;  // how many have it
  std::set<std::string> terminating_;               // UIDs
};

}  // namespace divvy::scheduler
