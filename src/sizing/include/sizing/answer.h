// "How much do I ask for": from a model and how it is to be served to bytes of each card. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sizing/model.h"

namespace divvy::sizing {

inline constexpr std::uint64_t kMaxTokens = 1'000'000'000;  // of context
inline constexpr std::uint64_t kMaxSequences = 1'000'000;   // at once
inline constexpr std::uint64_t kDefaultBatchedTokens = 2048;
inline constexpr std::uint64_t kMaxGpus = 16;
inline constexpr Bytes kUnknownContextCost = mib(520);  // of an H100, the dearest known

struct Question {
  std::uint64_t context = 8192;
  std::uint64_t concurrency = 1;
  // Tokens that a sequence has on average; without it all have the whole context.
  std::optional<std::uint64_t> average;
  std::optional<WeightFormat> weights;  // else as the checkpoint has them
  std::optional<Bytes> checkpoint;      // tensors as they are stored; counts without `weights`
  KvFormat kv;
  std::uint64_t gpus = 1;            // tensor parallel
  std::uint64_t batched_tokens = 0;  // that one step works on; 0: kDefaultBatchedTokens
  std::uint64_t max_sequences = 0;   // that the engine is told; 0: concurrency
  std::uint64_t block = 16;          // tokens of a block of the cache
  bool eager = false;                // no CUDA graphs
  // Of the memory it sees the engine fills so much, in 1/1000; 0: it is told the cache's bytes.
  unsigned utilization = 920;
  Bytes context_cost = kUnknownContextCost;  // of CUDA, on each card

  std::uint64_t steps() const;      // batched_tokens, with the default
  std::uint64_t sequences() const;  // max_sequences, with the default
};

enum class TermKind { kWeights, kCache, kState, kActivations, kGraphs, kRuntime, kHeadroom };

// exact: arithmetic on the model's shape, met to 0.3 % by published logs; near: to 5 %; rule: a
// rule fitted to few measurements.
enum class Confidence { kExact, kNear, kRule };

struct Term {
  TermKind kind;
  std::string name;
  Bytes bytes;  // on each card
  Confidence how;
  std::string why;
};

// All of it for each card.
struct Answer {
  std::vector<Term> terms;        // the last one is the headroom
  Bytes request;                  // their sum: what to ask for, a multiple of kGrain
  Bytes weights, cache;           // cache: states included
  std::uint64_t token_bytes = 0;  // of the cache for one more token of a sequence, windows not full
  // What to tell the engine, in 1/1000 of the request: as asked, or less where the rest would not
  // hold the CUDA context; engines refuse to start when less is free than they are to fill.
  unsigned utilization = 0;
  Parameters parameters;
  WeightFormat format;
};
inline constexpr Bytes kGrain = mib(64);

// kUsage: a number that no engine takes, or a format that is not known for this attention.
Result<Answer> answer(const ModelShape& model, const Question& question);

// The pieces, for whoever wants them alone. All for each card.
Bytes weightBytes(const Parameters& parameters, const WeightFormat& format, std::uint64_t gpus);
// Bytes of the cache that `tokens` of one sequence take in the layers of `group`.
Bytes cacheBytes(const ModelShape& model, const CacheGroup& group, const Question& question,
                 std::uint64_t tokens);
// Of one token in one layer.
std::uint64_t tokenBytes(const ModelShape& model, const KvFormat& kv, std::uint64_t gpus);
Bytes activationBytes(const ModelShape& model, const Question& question);
// What has to be asked for so that terms of this sum have room.
Bytes requestFor(Bytes sum, const Question& question);

// Over how many cards the model's heads can be divided: 1, 2, 4 ...
std::vector<std::uint64_t> possibleGpus(const ModelShape& model);

}  // namespace divvy::sizing
