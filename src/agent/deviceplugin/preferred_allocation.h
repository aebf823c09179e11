// Which units of the resource a container should be given: those of the cards that the scheduler
// gave it. The kubelet says neither whose the units are to be nor holds to the answer; units only
// count, so that no choice is wrong. Right ones have the kubelet's books (PodResources, and with
// them monitors) name the card that a container works on. Pure but for a lock; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/device_scores.h"
#include "kube/pod.h"
#include "kubelet/device_plugin.h"

namespace divvy::agent {

// A container that was placed here and has no units yet, as far as is known.
struct WaitingContainer {
  std::string name;
  std::vector<std::string> cards;  // UUIDs, as the scheduler assigned them
  std::string resource = {};       // by which it asks for them; empty: by none of the node's
  friend bool operator==(const WaitingContainer&, const WaitingContainer&) = default;
};

// Those of a pod that has not begun, in its own order, init containers first. Empty: none, or what
// is written of them is not understood. `resources`: by which the node's devices are counted.
std::vector<WaitingContainer> waitingOf(const kube::Pod& pod,
                                        const std::set<std::string>& resources);

// So that the cards are as well linked as can be, all that are required among them: at most
// `ask.count` of what is available. Of cards that are alike the one with more units left.
std::vector<std::string> unitsByScore(const kubelet::PreferredAllocationQuery& ask,
                                      const kube::DeviceScores& scores);

class PreferredAllocation {
 public:
  explicit PreferredAllocation(kube::DeviceScores scores) : scores_(std::move(scores)) {}

  // In place of what was known of that pod. Who is heard of first goes first, as with the kubelet.
  void waits(const std::string& uid, std::vector<WaitingContainer> containers);
  void forget(const std::string& uid);
  // That pod has these units: whom they were meant for still waits.
  void taken(const std::string& uid, std::vector<std::string> units);

  // Of the container that has waited longest for such units of that resource; it is taken to have
  // them from now on. None: nobody waits for so many, or not for cards that have units left.
  std::optional<std::vector<std::string>> assigned(const std::string& resource,
                                                   const kubelet::PreferredAllocationQuery& ask);
  // Somebody waits for so many: where assigned() has none, they do not go with what is required.
  bool awaits(const std::string& resource, std::size_t count);
  std::vector<std::string> otherwise(const kubelet::PreferredAllocationQuery& ask) const {
    return unitsByScore(ask, scores_);
  }

 private:
  struct Waiting {
    std::uint64_t heard = 0;  // the so-manieth
    std::vector<WaitingContainer> containers;
    std::map<std::string, std::vector<std::string>> answered;  // by name; units, ascending
    bool asksFor(const WaitingContainer& one, const std::string& resource, std::size_t count) const;
  };

  const kube::DeviceScores scores_;
  std::mutex mutex_;
  std::map<std::string, Waiting> pods_;  // by UID
  std::uint64_t heard_ = 0;
};

}  // namespace divvy::agent
