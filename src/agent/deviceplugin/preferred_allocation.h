// Chooses the device IDs for a container: those of the cards in its assignment.
// The kubelet does not state which container the IDs are for, and need not follow the answer. IDs
// only count, so no choice is wrong. With the right IDs, PodResources and its monitors name the
// card that a container uses. Pure but for a lock; any thread.
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

// A container that was placed here and, as far as is known, has no device IDs yet.
struct WaitingContainer {
  std::string name;
  std::vector<std::string> cards;  // UUIDs, as the scheduler assigned them
  std::string resource = {};       // resource of its request; empty: none of the node's
  friend bool operator==(const WaitingContainer&, const WaitingContainer&) = default;
};

// The waiting containers of a pod that has not started, in its own order, init containers first.
// Empty: none, or the assignment cannot be decoded. `resources`: those that count the node's
// devices.
std::vector<WaitingContainer> waitingOf(const kube::Pod& pod,
                                        const std::set<std::string>& resources);

// Chooses at most `ask.count` available IDs, all required ones among them, so that the cards have
// the best links. Of equal cards, takes the card with more IDs left.
std::vector<std::string> unitsByScore(const kubelet::PreferredAllocationQuery& ask,
                                      const kube::DeviceScores& scores);

class PreferredAllocation {
 public:
  explicit PreferredAllocation(kube::DeviceScores scores) : scores_(std::move(scores)) {}

  // Replaces the data of that pod. Pods are served in the order of their first call, as by
  // the kubelet.
  void waits(const std::string& uid, std::vector<WaitingContainer> containers);
  void forget(const std::string& uid);
  // That pod has these IDs: the container that they were meant for waits again.
  void taken(const std::string& uid, std::vector<std::string> units);

  // The IDs for the container that has waited longest for that many of the resource; it is taken to
  // have them from then on. Nothing: no container waits for that many, or its cards have no IDs
  // left.
  std::optional<std::vector<std::string>> assigned(const std::string& resource,
                                                   const kubelet::PreferredAllocationQuery& ask);
  // Whether a container waits for that many. If assigned() has nothing then, the required IDs do
  // not match its cards.
  bool awaits(const std::string& resource, std::size_t count);
  std::vector<std::string> otherwise(const kubelet::PreferredAllocationQuery& ask) const {
    return unitsByScore(ask, scores_);
  }

 private:
  struct Waiting {
    std::uint64_t heard = 0;  // order of arrival
    std::vector<WaitingContainer> containers;
    std::map<std::string, std::vector<std::string>>
        answered;  // by container's name; IDs, ascending
    bool asksFor(const WaitingContainer& one, const std::string& resource, std::size_t count) const;
  };

  const kube::DeviceScores scores_;
  std::mutex mutex_;
  std::map<std::string, Waiting> pods_;  // by UID
  std::uint64_t heard_ = 0;
};

}  // namespace divvy::agent
