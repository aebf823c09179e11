// Storage formats of weights and of the KV cache. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::sizing {

// The matrices of a model to which a format applies; the others have 16 bits.
enum class Reach {
  kAll,     // all: plain types, GGUF
  kLinear,  // all but embeddings and head
  kExperts  // only matrices of experts, if there are any
};

// A format of weights.
struct WeightFormat {
  std::string name = "bf16";
  std::uint32_t bits_1024 = 16 << 10;  // bits per weight, scales included, in 1/1024
  Reach reach = Reach::kAll;
  std::string quantization;  // option value of vLLM and SGLang; empty: no option needed
  bool online = false;       // the engine converts a 16-bit checkpoint while it loads

  double bits() const { return bits_1024 / 1024.0; }
};

// Returns all known formats. Any thread; valid until the program ends.
std::span<const WeightFormat> weightFormats();
// Returns a format by name ("fp8", "q4_k_m"), in upper or lower case. kUsage: not known; the
// message lists the names.
Result<WeightFormat> findWeightFormat(std::string_view name);
// Returns a format with groups of `group` weights of `bits` bits, which share a scale of 16 bits
// and a zero point of `bits` bits.
WeightFormat groupedFormat(const std::string& name, std::uint32_t bits, std::uint32_t group);

// A format of the KV cache.
struct KvFormat {
  std::string_view name = "auto";    // vLLM's name
  std::uint32_t bits_16 = 16 << 4;   // per value, in 1/16 bit
  std::uint32_t scale_bytes = 0;     // per token, layer and head; for keys and for values
  std::uint32_t latent_bytes = 0;    // per token and layer if fixed; 0: `bits_16` alone
  bool for_latent = true;            // usable with MLA
  bool for_plain = true;             // usable with other attention
  std::string_view sglang = "auto";  // SGLang's name; empty: not supported
};

// Returns all known formats. Any thread; valid until the program ends.
std::span<const KvFormat> kvFormats();
// Returns a format by vLLM's name. kUsage: not known; the message lists the names.
Result<KvFormat> findKvFormat(std::string_view name);

}  // namespace divvy::sizing
