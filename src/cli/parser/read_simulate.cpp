// Options of simulations, from words.
#include <algorithm>
#include <charconv>

#include "options/raw_options.h"

namespace divvy::cli {
namespace {

constexpr unsigned kMaxSeeds = 1000;
constexpr unsigned kMaxFirstSeed = 1'000'000;
constexpr unsigned kMaxJobs = 256;
constexpr unsigned kMaxMoves = 100'000;
constexpr double kMaxTune = 10;
constexpr double kMaxOvercommit = 4;

Result<double> parseTune(std::string_view text) {
  double value = 0;
  const auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  // In this form NaN is refused, too.
  if (fault == std::errc{} && end == text.data() + text.size() && value > 0 && value <= kMaxTune)
    return value;
  return Error{ErrorCode::kUsage, "--tune \"" + std::string(text) +
                                      "\" is not accepted; a number above 0 and up to 10 is"};
}

Result<unsigned> parseSample(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  return parseCount(text, "--sample", 1, 100);
}

// "fgd", "fgd,divvy", "published" or "all", each once.
Result<std::vector<engine::Policy>> parsePolicies(const std::vector<std::string>& given) {
  std::vector<engine::Policy> policies;
  const auto add = [&](engine::Policy policy) {
    if (std::find(policies.begin(), policies.end(), policy) == policies.end())
      policies.push_back(policy);
  };
  for (const std::string& text : given) {
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const std::string word = text.substr(from, comma - from);
      from = comma + 1;
      if (word == "all" || word == "published") {
        for (const engine::Policy policy : engine::kPublished) add(policy);
        if (word == "all") add(engine::Policy::kDivvy);
        continue;
      }
      const Result<engine::Policy> policy = engine::parsePolicy(word);
      if (!policy) {
        return Error{ErrorCode::kUsage,
                     "--policy: " + policy.error().message() + ", published, all"};
      }
      add(*policy);
    }
  }
  if (policies.empty()) policies.push_back(engine::Policy::kDivvy);
  return policies;
}

// "1.0,1.3" as thousandths, ascending, each once.
Result<std::vector<std::uint32_t>> parseOvercommits(const std::vector<std::string>& given) {
  std::vector<std::uint32_t> all;
  for (const std::string& text : given) {
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const std::string_view word = std::string_view(text).substr(from, comma - from);
      from = comma + 1;
      double value = 0;
      const auto [end, fault] =
          std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
      const bool read = fault == std::errc{} && end == word.data() + word.size();
      if (!read || !(value >= 1 && value <= kMaxOvercommit)) {
        return Error{ErrorCode::kUsage, "--overcommit \"" + std::string(word) +
                                            "\" is not accepted; numbers from 1.0 to 4.0 with "
                                            "commas between them are"};
      }
      all.push_back(static_cast<std::uint32_t>(value * 1000 + 0.5));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<void> readOutput(const RawOptions& raw, Output& output) {
  if (!raw.output.empty() && raw.output != "table" && raw.output != "json") {
    return Error{ErrorCode::kUsage,
                 "--output \"" + raw.output + "\" is not known; accepted: table, json"};
  }
  output = Output{raw.output == "json", false, !raw.no_headers, false};
  return {};
}

template <typename T>
Result<void> read(const std::string& text, Result<T> value, T& target) {
  if (text.empty()) return {};
  if (!value) return value.error();
  target = *value;
  return {};
}

// Options that plans and days share.
template <typename T>
Result<void> readRuns(const RawOptions& raw, T& options) {
  const SimulateText& text = raw.simulate;
  if (!text.overcommit.empty()) {
    Result<std::vector<std::uint32_t>> overcommit = parseOvercommits(text.overcommit);
    if (!overcommit) return overcommit.error();
    options.overcommit = *std::move(overcommit);
  }
  for (const Result<void>& reading :
       {read(text.seeds, parseCount(text.seeds, "--seeds", 1, kMaxSeeds), options.seeds),
        read(text.first_seed, parseCount(text.first_seed, "--first-seed", 0, kMaxFirstSeed),
             options.first_seed),
        read(text.jobs, parseCount(text.jobs, "--jobs", 1, kMaxJobs), options.jobs),
        readOutput(raw, options.output)}) {
    if (!reading) return reading;
  }
  return {};
}

}  // namespace

Result<Options> makeDay(const RawOptions& raw) {
  const SimulateText& text = raw.simulate;
  DayOptions options;
  options.scenario = text.scenario;
  options.json = text.json;
  options.svg = text.svg;
  const Result<void> read = readRuns(raw, options);
  if (!read) return read.error();
  return Options{options};
}

Result<Options> makeReplay(const RawOptions& raw) {
  const SimulateText& text = raw.simulate;
  ReplayOptions options;
  options.snapshot = text.snapshot;
  options.expect_same = text.expect_same;
  if (!text.policies.empty()) {
    const Result<engine::Policy> policy = engine::parsePolicy(text.policies.front());
    if (!policy) return Error(policy.error()).context("--policy");
    options.terms.policy = *policy;
  }
  if (!text.device_policy.empty()) {
    const Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(text.device_policy);
    if (!devices) return Error(devices.error()).context("--device-policy");
    options.terms.devices = *devices;
  }
  const Result<void> read = readOutput(raw, options.output);
  if (!read) return read.error();
  return Options{options};
}

Result<Options> makePlan(const RawOptions& raw) {
  const SimulateText& text = raw.simulate;
  PlanOptions options;
  options.nodes = text.nodes;
  if (text.pods.size() != 1) {
    return Error{ErrorCode::kUsage, "--pods: " + std::to_string(text.pods.size()) +
                                        " files; accepted: one file of pods"};
  }
  options.pods = text.pods.front();
  options.json = text.json;
  options.svg = text.svg;
  options.cards_only = text.cards_only;
  const Result<void> read = readRuns(raw, options);
  if (!read) return read.error();
  if (!text.policies.empty()) {
    const Result<std::vector<engine::Policy>> policies = parsePolicies(text.policies);
    if (!policies) return policies.error();
    if (policies->size() != 1)
      return Error{ErrorCode::kUsage, "--policy: several values; accepted: one of them"};
    options.policy = policies->front();
  }
  return Options{options};
}

Result<Options> makeDefrag(const RawOptions& raw) {
  const SimulateText& text = raw.simulate;
  DefragOptions options;
  options.snapshot = text.snapshot;
  if (text.goal == "nodes") {
    options.goal = engine::DefragmentationGoal::kNodes;
  } else if (text.goal == "fragmentation") {
    options.goal = engine::DefragmentationGoal::kFragmentation;
  } else if (!text.goal.empty() && text.goal != "devices") {
    return Error{ErrorCode::kUsage, "--goal \"" + text.goal +
                                        "\" is not known; accepted: devices, nodes, fragmentation"};
  }
  for (const Result<void>& reading :
       {read(text.most_moves, parseCount(text.most_moves, "--most-moves", 0, kMaxMoves),
             options.most_moves),
        readOutput(raw, options.output)}) {
    if (!reading) return reading.error();
  }
  return Options{options};
}

Result<Options> makeOpenb(const RawOptions& raw) {
  const SimulateText& text = raw.simulate;
  OpenbOptions options;
  options.nodes = text.nodes;
  options.pods = text.pods;
  options.json = text.json;
  options.svg = text.svg;
  for (const Result<void>& reading :
       {read(text.seeds, parseCount(text.seeds, "--seeds", 1, kMaxSeeds), options.seeds),
        read(text.first_seed, parseCount(text.first_seed, "--first-seed", 0, kMaxFirstSeed),
             options.first_seed),
        read(text.tune, parseTune(text.tune), options.tune),
        read(text.sample, parseSample(text.sample), options.sample_percent),
        read(text.jobs, parseCount(text.jobs, "--jobs", 1, kMaxJobs), options.jobs)}) {
    if (!reading) return reading.error();
  }
  Result<std::vector<engine::Policy>> policies = parsePolicies(text.policies);
  if (!policies) return policies.error();
  options.policies = *std::move(policies);
  return Options{options};
}

}  // namespace divvy::cli
