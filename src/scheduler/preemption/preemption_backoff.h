// Preemption backoff: pods that wait for a preemption attempt, in which order they get one, and
// when kube-scheduler has to filter them again first. Pure. Private.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/units.h"
#include "kube/pod.h"

namespace divvy::scheduler {

struct PreemptionCandidate {
  kube::Pod pod;
  std::vector<std::string> nodes;  // fit if other pods held nothing there; ascending
};

class PreemptionBackoff {
 public:
  // Adds or updates a pod that /filter refused on all nodes. `nodes`: refused only for devices that
  // evictions may free. They replace the nodes before.
  void refused(const kube::Pod& pod, std::span<const std::string_view> nodes, engine::Instant now);
  // Adds or updates a pod for which kube-scheduler called /preempt. `nodes`: fit if pods of lower
  // priority were gone. kube-scheduler calls it right after /filter, or instead; nodes of a recent
  // call are kept.
  void offered(const kube::Pod& pod, std::span<const std::string_view> nodes, engine::Instant now);
  void drop(const std::string& uid) { all_.erase(uid); }
  void clear() { all_.clear(); }
  bool has(const std::string& uid) const { return all_.contains(uid); }
  std::size_t size() const { return all_.size(); }

  // Returns the pod for the next attempt: highest priority, then longest wait. None: no pod is due.
  std::optional<PreemptionCandidate> next(engine::Instant now) const;
  // Records a failed attempt. The pod is due again after a growing pause.
  void failed(const std::string& uid, engine::Instant now);
  // Records that a plan is in progress: the pod is not due before `until`.
  void rest(const std::string& uid, engine::Instant until);
  // Returns pods that are due although their nodes are outdated: kube-scheduler has to filter them
  // again. Each is returned again after a growing pause.
  std::vector<kube::Meta> stale(engine::Instant now);

 private:
  struct One {
    PreemptionCandidate contender;
    engine::Instant heard{};  // last call of kube-scheduler
    engine::Instant next{};   // not due before
    unsigned tries = 0;
    std::size_t turn = 0;
  };
  // Adds or updates a pod. Null: the backoff is full of pods of the same or a higher priority.
  One* enter(const kube::Pod& pod, engine::Instant now);

  std::map<std::string, One> all_;  // by UID
  std::size_t turns_ = 0;
};

}  // namespace divvy::scheduler
