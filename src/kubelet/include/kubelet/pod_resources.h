// Containers and their devices, according to the kubelet. Source: the kubelet's PodResources
// API v1.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// Devices of a container. The API states no UIDs: an earlier pod may have had the same name.
struct PodDevices {
  std::string namespace_name;
  std::string pod;
  std::string container;
  std::string resource;
  std::vector<std::string> ids;
};

// Client of one kubelet; makes one call at a time, on a thread of its own.
class PodResources {
 public:
  // One row per container and resource. kUnavailable: the kubelet does not answer.
  using ReplyCallback = std::function<void(Result<std::vector<PodDevices>>)>;
  // Resources with device IDs that the kubelet can allocate now. kUnavailable: the kubelet does not
  // answer.
  using ResourceNames = Result<std::set<std::string>>;

  explicit PodResources(std::shared_ptr<KubeletDirs> sockets);
  ~PodResources();  // waits for all pending calls, 5 s at most for each
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  // Lists all containers with devices. Does not block; calls `answer` once, on that thread. May be
  // called from any thread.
  void list(ReplyCallback answer);
  // Lists the allocatable resources, as list() does. The kubelet counts a plugin's devices a moment
  // after it received them.
  void count(std::function<void(ResourceNames)> answer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the row with exactly these device IDs, in any order. Null: no row, or more than one.
const PodDevices* holderOf(const std::vector<PodDevices>& held, const std::string& resource,
                           const std::vector<std::string>& ids);

}  // namespace divvy::kubelet
