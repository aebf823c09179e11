#include "pods/kubelet_allocations.h"

#include <utility>

#include "log/log.h"

namespace divvy::agent {
namespace {

// In place of a doubt, which names sums: each of these texts differs.
constexpr const char* kDoubted = "its checksum does not match";

}  // namespace

KubeletAllocations::KubeletAllocations(asio::io_context& loop,
                                       std::shared_ptr<kubelet::KubeletDirs> dirs,
                                       ShutdownState& shutdown)
    : loop_(loop), shutdown_(shutdown), dirs_(std::move(dirs)), pod_resources_(dirs_) {}

void KubeletAllocations::list(std::function<void(List)> answer) {
  shutdown_.requestStarted();
  pod_resources_.list([this, answer = std::move(answer)](List held) {
    asio::post(loop_, [this, answer, held = std::move(held)]() mutable {
      shutdown_.requestEnded();
      answer(std::move(held));
    });
  });
}

void KubeletAllocations::count(std::function<void(Counted)> answer) {
  shutdown_.requestStarted();
  pod_resources_.count([this, answer = std::move(answer)](Counted now) {
    asio::post(loop_, [this, answer, now = std::move(now)]() mutable {
      shutdown_.requestEnded();
      answer(std::move(now));
    });
  });
}

Result<std::vector<kubelet::CheckpointEntry>> KubeletAllocations::checkpoint() {
  std::string doubt;
  Result<std::vector<kubelet::CheckpointEntry>> read = kubelet::readCheckpoint(*dirs_, &doubt);
  const std::string fault = !read ? read.error().message() : doubt.empty() ? "" : kDoubted;
  if (fault == checkpoint_fault_) return read;
  if (!read) {
    log::warn("cannot read the kubelet's checkpoint; devices are known for running containers only",
              {{"error", fault}});
  } else if (!doubt.empty()) {
    log::warn(
        "the kubelet's checkpoint may be damaged; it is used unless pod resources contradict it",
        {{"error", doubt}});
  } else {
    log::info(checkpoint_fault_ == kDoubted ? "the kubelet's checkpoint is valid again"
                                            : "the kubelet's checkpoint is readable again");
  }
  checkpoint_fault_ = fault;
  return read;
}

}  // namespace divvy::agent
