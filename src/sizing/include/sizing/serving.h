// The commands and the manifest that serve a model as computed. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/answer.h"
#include "sizing/cards.h"

namespace divvy::sizing {

// Serving engines.
enum class Engine { kVllm, kSglang };

// Returns an engine by name, in upper or lower case. kUsage: not known; the message lists the
// names.
Result<Engine> findEngine(std::string_view name);

// A model, the question about it, and the answer. `answer` must be that of `model` and `question`.
struct Serving {
  Engine engine = Engine::kVllm;
  ModelShape model;
  Question question;
  Answer answer;
  std::optional<Card> card;
  std::optional<unsigned> cores;  // percent of each card
};

// Returns the engine's command line, one argument an element, the program first. kUsage: the engine
// does not support the cache format of the question.
Result<std::vector<std::string>> engineCommand(const Serving& serving);

// Returns "divvy run --memory 36352Mi ... --" followed by the engine's command line.
std::vector<std::string> runCommand(const Serving& serving, const std::vector<std::string>& engine);

// Returns a Deployment with HAMi's resource names as YAML, for kubectl apply.
std::string manifest(const Serving& serving, const std::vector<std::string>& engine);

// Returns the arguments as one line for a POSIX shell, quoted where needed.
std::string shellLine(const std::vector<std::string>& words);

}  // namespace divvy::sizing
