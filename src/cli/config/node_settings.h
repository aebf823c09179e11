// Settings of single nodes for agents, in one file: Divvy's own, or the config.json of HAMi's
// device plugin. Pure. Source of that: facts on the incumbent's control plane, 4.3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/device_exclusion.h"
#include "agent/oversubscription.h"
#include "base/bytes.h"
#include "base/result.h"
#include "options/options.h"

namespace divvy::cli {

// Settings of a node; none: as its agent's options state.
struct CardSettings {
  std::optional<agent::DeviceExclusions> exclude;
  std::optional<unsigned> per_device;                    // as --per-device
  std::optional<bool> announce_numa;                     // as --announce-numa
  std::optional<unsigned> cores;                         // of a device, percent: 1 to 100
  std::optional<agent::PerDevice<unsigned>> overcommit;  // as --overcommit
  std::optional<agent::PerDevice<Bytes>> device_budget;  // as --device-budget
  std::optional<Bytes> host_reserve;                     // as --host-reserve
};

struct NodeSettings {
  struct Entry {
    std::vector<std::string> nodes;  // shell patterns: * ? [..]; none needs to match
    bool literal = false;            // `nodes` are names
    CardSettings settings;
  };
  std::vector<Entry> entries;
  // Unknown or unused keys: "FILE:3:5: ..". One each.
  std::vector<std::string> unheeded;
};

// Reads a map with `settings` (Divvy's), `nodeconfig` (HAMi's), or both. HAMi's come first. Also
// reads a ConfigMap with such a config.json. kUsage: the first error in any entry, with its
// position and the accepted values.
Result<NodeSettings> readNodeSettings(const std::string& text, const std::string& source);

// Returns the settings of a node: for each key, the last entry that matches and has it counts.
CardSettings settingsFor(const NodeSettings& all, const std::string& node);

// Replaces options by the file's settings for that node. An empty `file` changes nothing.
Result<void> applyNodeSettings(const std::string& file, const std::string& node,
                               AgentOptions* options);

}  // namespace divvy::cli
