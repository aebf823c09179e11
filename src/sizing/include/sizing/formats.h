// How numbers are stored: of weights, and of the KV cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::sizing {

// Which of a model's matrices a format is for; the others have 16 bits.
enum class Reach {
  kAll,     // everything: plain types, GGUF
  kLinear,  // all but embeddings and head
  kExperts  // only matrices of experts, where there are any
};

struct WeightFormat {
  std::string name = "bf16";
  std::uint32_t bits_1024 = 16 << 10;  // bits per weight, scales included, in 1/1024
  Reach reach = Reach::kAll;
  std::string quantization;  // as vLLM and SGLang call it; empty: nothing to be said
  bool online = false;       // the engine makes it of a 16-bit checkpoint while it loads

  double bits() const { return bits_1024 / 1024.0; }
};

std::span<const WeightFormat> weightFormats();
// By name ("fp8", "q4_k_m"), in any case. kUsage lists the names.
Result<WeightFormat> findWeightFormat(std::string_view name);
// Groups of `group` weights of `bits` bits that share a scale of 16 bits and a zero of `bits`.
WeightFormat groupedFormat(const std::string& name, std::uint32_t bits, std::uint32_t group);

struct KvFormat {
  std::string_view name = "auto";    // as vLLM calls it
  std::uint32_t bits_16 = 16 << 4;   // per number, in 1/16 bit
  std::uint32_t scale_bytes = 0;     // per token, layer and head, of keys and of values
  std::uint32_t latent_bytes = 0;    // per token and layer where that is fixed; 0: bits alone
  bool for_latent = true;            // is known for MLA
  bool for_plain = true;             // is known for other attention
  std::string_view sglang = "auto";  // as SGLang calls it; empty: it does not know it
};

std::span<const KvFormat> kvFormats();
Result<KvFormat> findKvFormat(std::string_view name);

}  // namespace divvy::sizing
