// Whether the cards' own time slices can weigh tenants here: tried once, by a child, when somebody
// first asks for them. Private.
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
  // The result is kept in `paths.timesliceTrial()` for agents to come with the same driver.
  TimesliceProbe(asio::io_context& loop, const Node& node, const NodePaths& paths,
                 const InstallLayout& install, const Inventory& inventory);

  // Tries the first device if that was not done yet; about half a second, at most 10 s. The loop
  // goes on meanwhile, and whoever asks meanwhile waits for the same trial.
  asio::awaitable<void> settle();

  // Why they cannot be used, as part of a sentence; empty: they hold.
  const std::string& missing() const { return missing_; }
  // What a process that is to have a slice must preload, by path and in this order.
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
  asio::steady_timer tried_;  // cancelled when the trial is over
};

}  // namespace divvy::agent
