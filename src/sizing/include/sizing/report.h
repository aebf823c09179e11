// All figures about serving one model, for users. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "sizing/advice.h"
#include "sizing/config.h"
#include "sizing/request.h"
#include "sizing/serving.h"

namespace divvy::sizing {

struct Report {
  Serving serving;
  std::vector<std::string> engine;       // command line
  std::vector<std::string> assumptions;  // of the model's configuration, and of Divvy
  bool fits = true;                      // on serving.card, if given
  std::uint64_t most_context = 0;        // on the card, at this concurrency
  std::uint64_t most_sequences = 0;      // on the card, at this context
  std::optional<Choice> smallest;
};

// A model and what is known of its checkpoint.
struct SizedModel {
  ConfigReading reading;
  std::optional<Bytes> checkpoint;  // stored tensors
};

// Computes the report. With a card but without a number of them, it takes as many as needed.
// kUsage: no engine serves this; the message begins with an option.
Result<Report> reportOn(SizedModel model, const Request& request);

// Returns whether it fits on the card, as a line without its end.
std::string cardLine(const Report& report);
// Returns the memory request of each card in MiB: "36416Mi".
std::string requestWord(const Report& report);
// Returns a card or several: "2 x a100".
std::string choiceWords(const Choice& choice);

// Returns the report as an object: docs/guides/sizing.md names the members.
boost::json::object reportJson(const Report& report);
// Returns the words of a term: "weights", and "exact", "5%" or "rule".
const char* wordOf(TermKind kind);
const char* wordOf(Confidence how);

}  // namespace divvy::sizing
