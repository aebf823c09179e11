// The shape of a language model: what of its architecture decides how much memory it needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sizing/formats.h"

namespace divvy::sizing {

// Norms of queries and keys: one of a head's size for all heads, or over all of them.
enum class QkNorm { kNone, kPerHead, kWhole };

// A mixture of experts. count 0: none.
struct Experts {
  std::uint64_t count = 0;
  std::uint64_t active = 0;  // per token
  std::uint64_t intermediate = 0;
  std::uint64_t shared_intermediate = 0;  // of all shared experts together
  std::uint64_t layers = 0;               // that have experts; the others are dense
  bool shared_gate = false;
  bool router_bias = false;
  bool bias = false;  // of the experts' own matrices
};

// Attention whose keys and values are kept as one latent vector (MLA). kv_rank 0: none.
struct Latent {
  std::uint64_t q_rank = 0;  // 0: queries are not compressed
  std::uint64_t kv_rank = 0;
  std::uint64_t nope = 0;
  std::uint64_t rope = 0;
  std::uint64_t value = 0;
};

// Layers that keep a state of constant size for each sequence (Mamba, linear attention).
struct Recurrent {
  std::uint64_t layers = 0;
  std::uint64_t parameters = 0;   // of each, instead of an attention's
  std::uint64_t state_bytes = 0;  // of each, for one sequence
};

// What a layer keeps of a sequence of n tokens.
enum class CacheKind {
  kFull,     // all
  kSliding,  // the last `window`
  kChunked,  // those of the chunk of `window` that it is in
  kCross,    // `window` tokens of an encoder, whatever n
};

struct CacheGroup {
  CacheKind kind = CacheKind::kFull;
  std::uint64_t layers = 0;
  std::uint64_t window = 0;
};

struct ModelShape {
  std::string name;
  std::string repository;  // where engines find it; empty: not known
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
  bool sinks = false;        // a number per head
  bool output_gate = false;  // queries come with a gate of their size
  std::uint64_t norms = 2;   // per layer
  QkNorm qk_norm = QkNorm::kNone;
  std::uint64_t positions = 0;         // learned position embeddings
  std::uint64_t other_parameters = 0;  // a vision tower; never quantised here

  Experts experts;
  Latent latent;
  Recurrent recurrent;
  std::vector<CacheGroup> cache;
  WeightFormat stored;  // as engines load its checkpoint
  bool halved = false;  // that has 32 bits, of which engines make 16

  bool isLatent() const { return latent.kv_rank != 0; }
};

// By what becomes of them when a model is quantised.
struct Parameters {
  std::uint64_t embeddings = 0;  // and the head: stay at 16 bits
  std::uint64_t experts = 0;     // matrices of routed experts
  std::uint64_t linear = 0;      // everything else of the layers
  std::uint64_t other = 0;       // stay at 16 bits

  std::uint64_t total() const { return embeddings + experts + linear + other; }
};

// More than anybody could hold: whoever asks for it made a mistake.
inline constexpr std::uint64_t kMaxParameters = 100'000'000'000'000;

// kUsage above kMaxParameters.
Result<Parameters> countParameters(const ModelShape& model);

// "GQA", "MQA", "MHA", "MLA", with what of it is windowed: "GQA, 24 of 26 layers see 512 tokens".
std::string attentionWords(const ModelShape& model);

}  // namespace divvy::sizing
