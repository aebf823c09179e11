// A node as its agent finds it: a kubelet and an API server, and `divvy agent` as a process between
// them, with simulated cards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assigned_pod.h"
#include "fake_device_manager.h"
#include "fake_node_api.h"
#include "sandbox.h"

namespace divvy::test {

class PluginProcess {
 public:
  // The agent is begun with it, or (not `begun`) by the test.
  explicit PluginProcess(bool begun = true);
  // Its pods go, and with them all that the agent has of them.
  ~PluginProcess();

  // Each one's units are known to the kubelet. False: what the agent said is printed.
  bool ready();
  void beginAgent(const Words& more = {});
  void killAgent();
  // It ends as it is asked to.
  void endAgent();
  // It has said so, sooner or later.
  bool says(const std::string& words);
  // Killed, and begun anew; returns when the kubelet has its units again.
  void replaceAgent();
  // UUIDs of the cards.
  const std::vector<std::string>& cards() const { return cards_; }

  FakeNodeApi api;
  FakeDeviceManager kubelet;
  Sandbox sandbox;

 private:
  Words words_;
  std::vector<std::string> cards_;
  std::optional<Child> agent_;
};

// Units that one card has.
inline constexpr unsigned kUnits = 10;

}  // namespace divvy::test
