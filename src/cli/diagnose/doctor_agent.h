// What agents of this machine say of themselves, asked by folders that may be another tree's.
#pragma once

#include <optional>
#include <string>

#include "agent/protocol.h"
#include "base/result.h"
#include "doctor/node_facts.h"

namespace divvy::cli {

// All that one says.
struct AgentTalk {
  std::string version;  // empty: it did not say
  agent::Snapshot snapshot;
  std::vector<agent::EventView> events;
  bool words_known = false;                   // whether its command line could be read
  std::optional<doctor::NamedText> settings;  // by its --node-settings
};

// `dir` is an agent's. Waits 2 s for each answer. kNotFound: nobody listens there; kUnavailable:
// somebody does, and does not answer; kIo: it is not ours to ask.
Result<AgentTalk> talkTo(const std::string& dir);

// Of it, what is judged.
doctor::AgentAnswer answerOf(const AgentTalk& talk);

}  // namespace divvy::cli
