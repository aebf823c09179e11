// The shape of a language model: the parts of its architecture that determine its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sizing/formats.h"

namespace divvy::sizing {

// Norms of queries and keys: kPerHead has the size of one head, for all heads; kWhole spans all
// heads.
enum class QkNorm { kNone, kPerHead, kWhole };

// A mixture of experts. `count` 0: none.
struct Experts {
  std::uint64_t count = 0;
  std::uint64_t active = 0;  // per token
  std::uint64_t intermediate = 0;
  std::uint64_t shared_intermediate = 0;  // sum of all shared experts
  std::uint64_t layers = 0;               // layers with experts; the others are dense
  bool shared_gate = false;
  bool router_bias = false;
  bool bias = false;  // in the experts' own matrices
};

// Attention that stores keys and values as one latent vector (MLA). `kv_rank` 0: none.
struct Latent {
  std::uint64_t q_rank = 0;  // 0: queries are not compressed
  std::uint64_t kv_rank = 0;
  std::uint64_t nope = 0;
  std::uint64_t rope = 0;
  std::uint64_t value = 0;
};

// Layers with a state of constant size for each sequence (Mamba, linear attention).
struct Recurrent {
  std::uint64_t layers = 0;
  std::uint64_t parameters = 0;   // of each layer, in place of attention
  std::uint64_t state_bytes = 0;  // of each layer, for one sequence
};

// The tokens that a layer caches of a sequence of n tokens.
enum class CacheKind {
  kFull,     // all
  kSliding,  // the last `window`
  kChunked,  // those of the current chunk of `window` tokens
  kCross,    // `window` tokens of an encoder, for any n
};

// Layers with equal caches.
struct CacheGroup {
  CacheKind kind = CacheKind::kFull;
  std::uint64_t layers = 0;
  std::uint64_t window = 0;
};

// The shape of a model. 0 means that the model has no such part, unless noted.
struct ModelShape {
  std::string name;
  std::string repository;  // from which engines load it; empty: not known
  std::string family;      // model_type of its configuration

  std::uint64_t vocabulary = 0;
  std::uint64_t hidden = 0;
  std::uint64_t layers = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;      // of queries and keys
  std::uint64_t intermediate = 0;  // of the dense layers
  std::uint64_t max_context = 0;   // 0: not known

  bool tied = false;  // embeddings and head are one matrix
  bool gated = true;  // three matrices in a dense layer, not two
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool head_bias = false;
  bool norm_bias = false;
  bool sinks = false;        // one value per head
  bool output_gate = false;  // queries have a gate of their size
  std::uint64_t norms = 2;   // per layer
  QkNorm qk_norm = QkNorm::kNone;
  std::uint64_t positions = 0;         // learned position embeddings
  std::uint64_t other_parameters = 0;  // for example a vision tower; never quantised

  Experts experts;
  Latent latent;
  Recurrent recurrent;
  std::vector<CacheGroup> cache;
  WeightFormat stored;  // format of the checkpoint, as engines load it
  bool halved = false;  // the checkpoint has 32 bits, which engines convert to 16

  // Returns whether it has latent attention.
  bool isLatent() const { return latent.kv_rank != 0; }
};

// Numbers of parameters, grouped by their treatment in quantisation.
struct Parameters {
  std::uint64_t embeddings = 0;  // with the head; stay at 16 bits
  std::uint64_t experts = 0;     // matrices of routed experts
  std::uint64_t linear = 0;      // all other parameters of the layers
  std::uint64_t other = 0;       // stay at 16 bits

  std::uint64_t total() const { return embeddings + experts + linear + other; }
};

// Upper limit on parameters: a larger number is a mistake in the input.
inline constexpr std::uint64_t kMaxParameters = 100'000'000'000'000;

// Counts the parameters. kUsage: more than kMaxParameters.
Result<Parameters> countParameters(const ModelShape& model);

// Returns the kind of attention ("GQA", "MQA", "MHA", "MLA") with its windows, for users: "GQA, 24
// of 26 layers see 512 tokens".
std::string attentionWords(const ModelShape& model);

}  // namespace divvy::sizing
