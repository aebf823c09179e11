// Whether the cards' own time slices can weigh tenants here. A child tries it once, at the first
// request for them. Private.
#pragma once

#include <string>
#include <vector>

#include "agent/install_layout.h"
#include "agent/node.h"
#include "device/inventory.h"
#include "os/asio.h"

namespace divvy::agent {

class TimesliceProbe {
 public:
  // The result is stored in `paths.timesliceTrial()` for later agents with the same driver.
  TimesliceProbe(asio::io_context& loop, const Node& node, const NodePaths& paths,
                 const InstallLayout& install, const Inventory& inventory);

  // Tries the first device that is not excluded, if no result is known; about half a second, at
  // most 10 s. The loop runs on meanwhile, and later callers wait for the same trial.
  asio::awaitable<void> settle();

  // Why time slices cannot be used, as part of a sentence; empty: they can.
  const std::string& missing() const { return missing_; }
  // Libraries that a process with a time slice must preload: paths, in this order.
  const std::vector<std::string>& preload() const { return preload_; }

 private:
  enum class Stage { kUntried, kTrying, kTried };

  asio::awaitable<std::string> ask();
  void judge(const std::string& answer);
  void load();
  void save() const;

  asio::io_context& loop_;
  const Inventory& inventory_;
  std::string executable_;
  std::string file_;
  std::vector<std::string> preload_;
  std::string missing_ = "time slices were not tried here yet";
  Stage stage_ = Stage::kUntried;
  asio::steady_timer tried_;  // cancelled when the trial ends
};

}  // namespace divvy::agent
