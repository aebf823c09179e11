// Device IDs that the kubelet allocated, by its PodResources API and by its checkpoint. Private.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/checkpoint.h"
#include "kubelet/kubelet_dirs.h"
#include "kubelet/pod_resources.h"
#include "os/asio.h"
#include "os/shutdown_state.h"

namespace divvy::agent {

// Only on the loop's thread. The destructor waits for pending calls, 5 s at most for each.
class KubeletAllocations {
 public:
  using List = Result<std::vector<kubelet::PodDevices>>;
  using Counted = kubelet::PodResources::ResourceNames;

  // `loop` and `shutdown` outlive it.
  KubeletAllocations(asio::io_context& loop, std::shared_ptr<kubelet::KubeletDirs> dirs,
                     ShutdownState& shutdown);

  // Lists all containers with devices. Does not block; calls `answer` once, on the loop's thread.
  // Until then the request is open. kUnavailable: the kubelet does not answer.
  void list(std::function<void(List)> answer);
  // Lists the resources that the kubelet can allocate now, as list() does.
  void count(std::function<void(Counted)> answer);
  // Reads the checkpoint. Errors: those of kubelet::readCheckpoint(). An error or a wrong checksum
  // is logged once, and so is its end.
  Result<std::vector<kubelet::CheckpointEntry>> checkpoint();
  const std::shared_ptr<kubelet::KubeletDirs>& dirs() const { return dirs_; }

 private:
  asio::io_context& loop_;
  ShutdownState& shutdown_;
  const std::shared_ptr<kubelet::KubeletDirs> dirs_;
  std::string checkpoint_fault_;  // as logged last; empty: none
  kubelet::PodResources pod_resources_;
};

}  // namespace divvy::agent
