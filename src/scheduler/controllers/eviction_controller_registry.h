// The eviction controllers, one for each kind of eviction request that agents make. Private.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/eviction_controller.h"
#include "runtime/cluster_observer.h"

namespace divvy::scheduler {

// As EvictionController.
class EvictionControllers : public ClusterObserver {
 public:
  struct Options {
    std::string name;  // of the scheduler, for Events
    std::chrono::seconds idle_notice, idle_extension, bypass_notice;
    const std::optional<kube::Access>& platform;  // notified of idle pods
    std::function<std::string()> why_not;  // why this replica does not write now; empty: it does
    const bool* stopped = nullptr;
  };
  // Creates the controllers; earlier updates are ignored. kUsage: which part of the platform's
  // access cannot be used.
  Result<void> open(boost::asio::any_io_executor executor, kube::Client& client, Counters& counts,
                    const Options& options);

  void onNodeUpdate(const kube::Node& node) override {
    for (const auto& one : controllers_) one->onNodeUpdate(node);
  }
  void onNodeDelete(const std::string& name) override {
    for (const auto& one : controllers_) one->onNodeDelete(name);
  }
  void onPodUpdate(const kube::Pod& pod) override {
    for (const auto& one : controllers_) one->onPodUpdate(pod);
  }
  void onPodDelete(const std::string& uid) override {
    for (const auto& one : controllers_) one->onPodDelete(uid);
  }

 private:
  std::vector<std::unique_ptr<EvictionController>> controllers_;
};

}  // namespace divvy::scheduler
