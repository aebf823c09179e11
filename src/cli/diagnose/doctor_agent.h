// State of this machine's agents, asked for by folders that may be below another root.
#pragma once

#include <optional>
#include <string>

#include "agent/protocol.h"
#include "base/result.h"
#include "doctor/node_facts.h"

namespace divvy::cli {

// An agent's whole reply.
struct AgentTalk {
  std::string version;  // empty: not stated
  agent::Snapshot snapshot;
  std::vector<agent::EventView> events;
  bool words_known = false;                   // its command line could be read
  std::optional<doctor::NamedText> settings;  // of its --node-settings
};

// Asks the agent of folder `dir`. Waits 2 s for each reply. kNotFound: no process listens.
// kUnavailable: one listens and does not reply. kIo: no permission.
Result<AgentTalk> talkTo(const std::string& dir);

// Returns the facts for checks.
doctor::AgentAnswer answerOf(const AgentTalk& talk);

}  // namespace divvy::cli
