// What a user asks about serving a model. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sizing/answer.h"
#include "sizing/cards.h"
#include "sizing/serving.h"

namespace divvy::sizing {

// A request as text, by the options of `divvy size`. An empty text: not given.
struct RequestWords {
  std::string context, concurrency, average, dtype, kv_dtype, gpu, gpus, engine, utilization,
      batched_tokens, max_sequences;
  bool eager = false;
};

struct Request {
  Question question;
  bool context_given = false;         // false: reportOn() takes a usual one
  std::optional<std::uint64_t> gpus;  // none: as many as needed
  std::optional<Card> card;
  Engine engine = Engine::kVllm;
};

// Reads the words. Counts of tokens may end with k or M (units of 1024). kUsage: a word is not
// accepted; the message begins with its option ("--context") and names the accepted values.
Result<Request> readRequest(const RequestWords& words);

}  // namespace divvy::sizing
