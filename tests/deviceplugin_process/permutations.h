// Pods that come to a node in one order and are started in another, several at once, and are held
// to what the scheduler gave each of their containers. Numbers from a seed: what is tried can be
// tried again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assigned_pod.h"
#include "base/rng.h"
#include "container_probe.h"

namespace divvy::test {

// What pods are tried on.
struct Stage {
  FakeDeviceManager& kubelet;
  std::vector<std::string> cards;
  // The scheduler has bound it; its status is another; it is gone.
  std::function<void(const AssignedPod&)> bound, changed;
  std::function<void(const std::string& uid)> gone;
  // Beside containers that are started, now and then; may be empty.
  std::function<void()> disturb = {};
  bool inits = true;  // pods may have init containers
  // Goes into containers that have begun; null: nobody does, and only pages are looked at.
  ContainerProbe* inside = nullptr;
};

struct Tally {
  std::uint64_t pods = 0, containers = 0;
  std::uint64_t at_once = 0;      // started beside another one
  std::uint64_t late = 0;         // whose pod's status came later than they did
  std::uint64_t elsewhere = 0;    // whose units are of other cards than theirs
  std::uint64_t disturbed = 0;    // times
  std::uint64_t again = 0;        // tries that were refused at first
  std::uint64_t overtaken = 0;    // pods that the kubelet admits before one that was bound earlier
  std::uint64_t enrolled = 0;     // whose process the agent took for one of their share
  std::uint64_t turned_away = 0;  // and for none: processes of other pods
  std::uint64_t seen = 0;         // in which a program looked at its devices
  std::map<std::string, std::string> amiss;  // by container: what it found that is not its own
  Tally& operator+=(const Tally& other);
};

class Permutations {
 public:
  Permutations(Stage stage, std::uint64_t seed) : stage_(std::move(stage)), rng_(seed) {}

  // One more group of pods, 2 to 4 of them. `in_order`: each is admitted as it is bound, and all is
  // started in that order.
  void run(bool in_order = false);
  const Tally& tally() const { return tally_; }

 private:
  struct Step {
    std::size_t pod;  // of those that are new
    enum { kAdmit, kStart } what;
    std::size_t container;
  };

  struct Started {
    unsigned tries = 0;
    std::string refusal;  // the last one; empty: it is started
  };

  ExpectedShare portionOf(unsigned devices);
  std::vector<Step> stepsOf(std::size_t pod) const;
  std::vector<Step> merged(bool in_order);
  bool admit(AssignedPod& pod);
  void check(const AssignedPod& pod, std::size_t container);
  void goInto(const AssignedPod& pod, std::size_t container);
  void start(const std::vector<Step>& together);
  Started startOne(AssignedPod& pod, std::size_t container, bool late);
  void end(std::size_t living);

  Stage stage_;
  Rng rng_;
  Tally tally_;
  std::vector<AssignedPod> living_;
  std::size_t first_new_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace divvy::test
