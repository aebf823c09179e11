// Output of `divvy size`. Pure.
#pragma once

#include <string>
#include <vector>

#include "sizing/advice.h"
#include "sizing/serving.h"

namespace divvy::cli {

struct SizeReport {
  sizing::Serving serving;
  std::vector<std::string> engine;       // command line
  std::vector<std::string> assumptions;  // of the model's configuration, and of Divvy
  bool fits = true;                      // on serving.card, if given
  std::uint64_t most_context = 0;        // on the card, at this concurrency
  std::uint64_t most_sequences = 0;      // on the card, at this context
  std::optional<sizing::Choice> smallest;
};

// `width` as for Table::text.
std::string sizeText(const SizeReport& report, bool headers, std::size_t width);
std::string sizeJson(const SizeReport& report);
// Returns whether it fits on the card, as a line without its end.
std::string cardLine(const SizeReport& report);
std::string sizeYaml(const SizeReport& report);

std::string modelsText(bool headers, std::size_t width);
std::string modelsJson();

}  // namespace divvy::cli
