// What an agent is told of single nodes of a cluster, in one file for all of them: Divvy's own, or
// the config.json of HAMi's device plugin. Pure. Source of the latter: facts on the incumbent's
// control plane, 4.3.
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

// What is said of a node; nothing: as the options of its agent say.
struct CardSettings {
  std::optional<agent::DeviceExclusions> exclude;
  std::optional<unsigned> per_device;                    // as --per-device
  std::optional<bool> announce_numa;                     // as --announce-numa
  std::optional<unsigned> cores;                         // of a card, percent: 1 to 100
  std::optional<agent::PerDevice<unsigned>> overcommit;  // as --overcommit
  std::optional<agent::PerDevice<Bytes>> device_budget;  // as --device-budget
  std::optional<Bytes> host_reserve;                     // as --host-reserve
};

struct NodeSettings {
  struct Entry {
    std::vector<std::string> nodes;  // patterns as of a shell: * ? [..]; none of them has to fit
    bool literal = false;            // they are names
    CardSettings says;
  };
  std::vector<Entry> entries;
  // Keys that are not known, or not heeded: "FILE:3:5: ..". One each.
  std::vector<std::string> unheeded;
};

// A map with `settings` (Divvy's), `nodeconfig` (HAMi's), or both, of which HAMi's come first; or a
// ConfigMap whose config.json is one. kUsage: the first thing that is wrong, in whichever entry:
// where, what is accepted.
Result<NodeSettings> readNodeSettings(const std::string& text, const std::string& source);

// Of all entries that are of that node: each key as the last one that has it says.
CardSettings settingsFor(const NodeSettings& all, const std::string& node);

// Puts a file's settings for that node in place of what the options say. An empty `file` is none.
Result<void> applyNodeSettings(const std::string& file, const std::string& node,
                               AgentOptions* options);

}  // namespace divvy::cli
