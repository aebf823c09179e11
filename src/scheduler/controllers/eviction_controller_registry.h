// The desks for all kinds of complaints of agents. Private.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/eviction_controller.h"

namespace divvy::scheduler {

// As EvictionController.
class EvictionControllers {
 public:
  struct Options {
    std::string name;  // of the scheduler, for Events
    std::chrono::seconds idle_notice, idle_extension, bypass_notice;
    const std::optional<kube::Access>& platform;  // of idle pods
    std::function<std::string()> why_not;
    const bool* stopped = nullptr;
  };
  // Before it nothing is heard. kUsage: what of the platform's access cannot be used.
  Result<void> open(boost::asio::any_io_executor executor, kube::Client& client, Counters& counts,
                    const Options& options);

  void heard(const kube::Node& node) {
    for (const auto& desk : desks_) desk->heard(node);
  }
  void gone(const std::string& node) {
    for (const auto& desk : desks_) desk->gone(node);
  }
  void see(const kube::Pod& pod) {
    for (const auto& desk : desks_) desk->see(pod);
  }
  void forget(const std::string& uid) {
    for (const auto& desk : desks_) desk->forget(uid);
  }

 private:
  std::vector<std::unique_ptr<EvictionController>> desks_;
};

}  // namespace divvy::scheduler
