// Options on oversubscribed memory, from words.
#include <cstdlib>

#include "daemon_options/daemon_options.h"
#include "options/option_value.h"
#include "options/options.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kShortestQuantumMs = 10;
constexpr std::uint64_t kLongestQuantumMs = 3'600'000;

Result<std::uint64_t> parseQuantum(std::string_view text) {
  if (text == "auto") return std::uint64_t{0};
  const Result<std::uint64_t> ms = parseDurationMs(text);
  if (ms && *ms >= kShortestQuantumMs && *ms <= kLongestQuantumMs) return ms;
  return Error{ErrorCode::kUsage,
               "\"" + std::string(text) + "\" is not accepted; auto, or 10ms to 1h is"};
}

}  // namespace

OptionValue agentOptionValue(std::vector<std::string> given, std::string_view option) {
  if (!given.empty()) return {std::move(given), "--" + std::string(option)};
  const std::string variable(daemon_options::agentVariable(option));
  const char* text = std::getenv(variable.c_str());
  if (text == nullptr || *text == '\0') return {};
  return {{text}, variable};
}

OptionValue agentOptionValue(const std::string& given, std::string_view option) {
  std::vector<std::string> values;
  if (!given.empty()) values.push_back(given);
  return agentOptionValue(std::move(values), option);
}

Result<agent::MemoryRequest> parseGuarantee(std::string_view text) {
  if (text == "0" || text == "0%") return agent::MemoryRequest{{}, 0};
  Result<agent::MemoryRequest> memory = agent::parseMemoryAsk(text);
  if (!memory) return Error(memory.error()).context("--guaranteed");
  return memory;
}

Result<void> checkGuarantee(const agent::MemoryRequest& guaranteed,
                            const agent::MemoryRequest& memory) {
  const bool alike = guaranteed.isPercent() == memory.isPercent();
  const bool more = guaranteed.isPercent() ? guaranteed.percent > memory.percent
                                           : guaranteed.bytes > memory.bytes;
  if (!alike || !more) return {};
  return Error{ErrorCode::kUsage, "--guaranteed " + guaranteed.text() +
                                      " is more than --memory; accepted: at most " + memory.text()};
}

Result<std::uint64_t> parsePressureWait(std::string_view text) {
  Result<std::uint64_t> ms = parseDurationMs(text);
  const Result<void> good = ms ? agent::checkPressureWait(*ms) : Result<void>();
  return good ? ms : Result<std::uint64_t>(Error(good.error()).context("--pressure-wait"));
}

Result<agent::Oversubscription> parseOversubscription(const OversubscriptionText& given) {
  agent::Oversubscription terms;
  const auto overcommit = agentOptionValue(given.overcommit, "overcommit");
  const auto budget = agentOptionValue(given.budget, "device-budget");
  const auto reserve = agentOptionValue(given.host_reserve, "host-reserve");
  const auto chunk = agentOptionValue(given.chunk, "swap-chunk");
  const auto checkpoint = agentOptionValue(given.checkpoint, "checkpoint");
  const auto host_map = agentOptionValue(given.host_map, "host-map");
  const auto quantum = agentOptionValue(given.quantum, "swap-quantum");
  Result<void> good = readEach(overcommit, [&](const std::string& text) {
    return agent::readOvercommit(text, terms.overcommit);
  });
  if (good)
    good = readEach(budget,
                    [&](const std::string& text) { return agent::readBudget(text, terms.budget); });
  if (good) good = readOne(reserve, agent::parseHostReserve, terms.host_reserve);
  if (good) good = readOne(chunk, agent::parseSwapChunk, terms.chunk);
  if (good) good = readOne(quantum, parseQuantum, terms.quantum_ms);
  if (good) good = readOne(checkpoint, agent::parseCheckpoint, terms.checkpoint);
  if (good) good = readOne(host_map, agent::parseHostMap, terms.host_map);
  if (!good) return good.error();
  return terms;
}

}  // namespace divvy::cli
