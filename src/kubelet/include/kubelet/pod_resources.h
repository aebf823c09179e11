// Whose devices are which, as the kubelet knows it. Source: the kubelet's PodResources API v1.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// A container that has devices. UIDs are not told: a name may have been another pod's before.
struct PodDevices {
  std::string space;  // namespace
  std::string pod;
  std::string container;
  std::string resource;
  std::vector<std::string> ids;
};

// Asks one kubelet, on a thread of its own, one question after the other.
class PodResources {
 public:
  // One row per container and resource. kUnavailable: nobody answers there.
  using Answer = std::function<void(Result<std::vector<PodDevices>>)>;
  // Resources of which it would give away something now. kUnavailable: as above.
  using Counted = Result<std::set<std::string>>;

  explicit PodResources(std::shared_ptr<KubeletDirs> sockets);
  ~PodResources();  // when all that was asked is answered: 5 s for each at most
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // Does not wait; `answer` is called once, on that thread. Any thread.
  void list(Answer answer);
  // Likewise. What a plugin says of its devices the kubelet counts a moment after it was sent.
  void count(std::function<void(Counted)> answer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The one that has exactly these, in whatever order; null: nobody has, or more than one.
const PodDevices* holderOf(const std::vector<PodDevices>& held, const std::string& resource,
                           const std::vector<std::string>& ids);

}  // namespace divvy::kubelet
