// What makes an answer true: the engine's command line, the share, the manifest. Pure text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/answer.h"
#include "sizing/cards.h"

namespace divvy::sizing {

enum class Engine { kVllm, kSglang };

// kUsage lists what is accepted.
Result<Engine> findEngine(std::string_view name);

struct Serving {
  Engine engine = Engine::kVllm;
  ModelShape model;
  Question question;
  Answer answer;
  std::optional<Card> card;
  std::optional<unsigned> cores;  // percent of each card
};

// The engine's words, its program first, one argument each. kUsage where it does not know the
// format that was asked for.
Result<std::vector<std::string>> engineCommand(const Serving& serving);

// "divvy run --memory 36352Mi ... --" and the engine's.
std::vector<std::string> runCommand(const Serving& serving, const std::vector<std::string>& engine);

// A Deployment with HAMi's resource names, for kubectl apply.
std::string manifest(const Serving& serving, const std::vector<std::string>& engine);

// As a shell takes it.
std::string shellLine(const std::vector<std::string>& words);

}  // namespace divvy::sizing
