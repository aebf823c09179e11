// Computes the memory of each card that serving a model needs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sizing/model.h"

namespace divvy::sizing {

inline constexpr std::uint64_t kMaxTokens = 1'000'000'000;  // largest context
inline constexpr std::uint64_t kMaxSequences = 1'000'000;   // largest number of sequences at once
inline constexpr std::uint64_t kDefaultBatchedTokens = 2048;
inline constexpr std::uint64_t kMaxGpus = 16;
inline constexpr Bytes kUnknownContextCost = mib(520);  // of an H100, the largest known

// How a model is served. Counts of tokens are for one sequence unless noted.
struct Question {
  std::uint64_t context = 8192;
  std::uint64_t concurrency = 1;
  // Average tokens of a sequence, 1 to `context`; none: all sequences have the whole context.
  std::optional<std::uint64_t> average;
  std::optional<WeightFormat> weights;  // none: as in the checkpoint
  std::optional<Bytes> checkpoint;      // stored tensors; used only without `weights`
  KvFormat kv;
  std::uint64_t gpus = 1;            // number of cards, tensor parallel
  std::uint64_t batched_tokens = 0;  // of one step; 0: kDefaultBatchedTokens
  std::uint64_t max_sequences = 0;   // the engine's setting; 0: concurrency
  std::uint64_t block = 16;          // tokens of a cache block
  bool eager = false;                // no CUDA graphs
  // The part of the visible memory that the engine fills, in 1/1000, at most 1000; 0: the engine
  // gets the size of the cache in bytes.
  unsigned utilization = 920;
  Bytes context_cost = kUnknownContextCost;  // of a CUDA context, on each card

  // Return batched_tokens and max_sequences, with the defaults applied.
  std::uint64_t steps() const;
  std::uint64_t sequences() const;
};

enum class TermKind { kWeights, kCache, kState, kActivations, kGraphs, kRuntime, kHeadroom };

// How exact a term is. kExact: arithmetic on the model's shape, within 0.3 % of published logs;
// kNear: within 5 %; kRule: a rule fitted to few measurements.
enum class Confidence { kExact, kNear, kRule };

// One part of the needed memory.
struct Term {
  TermKind kind;
  std::string name;
  Bytes bytes;  // on each card
  Confidence how;
  std::string why;  // its derivation, for users
};

// The needed memory. All amounts are for each card.
struct Answer {
  std::vector<Term> terms;  // the last one is the headroom
  Bytes request;            // their sum, a multiple of kGrain: the amount to request
  Bytes weights, cache;     // `cache` includes states
  std::uint64_t token_bytes =
      0;  // of the cache for one more token of a sequence while no window is full
  // The setting for the engine, in 1/1000 of the request: that of the question, or less if the rest
  // would not hold the CUDA context. Engines refuse to start if less is free than they shall fill.
  unsigned utilization = 0;
  Parameters parameters;
  WeightFormat format;
};
inline constexpr Bytes kGrain = mib(64);

// Computes the answer. kUsage: a number that no engine accepts, or a format that is not known for
// this attention. The message names the option and the accepted values.
Result<Answer> answer(const ModelShape& model, const Question& question);

// The parts of the answer. All amounts are for each card.
Bytes weightBytes(const Parameters& parameters, const WeightFormat& format, std::uint64_t gpus);
// Returns the cache for `tokens` tokens of one sequence in the layers of `group`, in whole blocks.
Bytes cacheBytes(const ModelShape& model, const CacheGroup& group, const Question& question,
                 std::uint64_t tokens);
// Returns the bytes of the cache for one token in one layer.
std::uint64_t tokenBytes(const ModelShape& model, const KvFormat& kv, std::uint64_t gpus);
Bytes activationBytes(const ModelShape& model, const Question& question);
// Returns the smallest request in which terms of this sum fit, headroom included.
Bytes requestFor(Bytes sum, const Question& question);

// Returns the numbers of cards, up to kMaxGpus, over which the model's heads can be divided,
// ascending: 1, 2, 4 ...
std::vector<std::uint64_t> possibleGpus(const ModelShape& model);

}  // namespace divvy::sizing
