#include "sizing/formats.h"

#include <array>
#include <vector>

#include "sizing/names.h"

namespace divvy::sizing {
namespace {

constexpr std::uint32_t bits(double count) {
  const double scaled = count * 1024;
  const auto whole = static_cast<std::uint32_t>(scaled);
  return whole + (static_cast<double>(whole) < scaled ? 1 : 0);
}

// Scales included. awq, gptq: 4 bits in groups of 128, (16 + 4) / 128 more.
const std::array<WeightFormat, 17>& weightTable() {
  static const std::array<WeightFormat, 17> table{{
      {"bf16", bits(16), Reach::kAll, "", false},
      {"fp16", bits(16), Reach::kAll, "", false},
      {"fp32", bits(32), Reach::kAll, "", false},
      {"fp8", bits(8), Reach::kLinear, "fp8", true},
      {"int8", bits(8), Reach::kLinear, "", false},
      {"awq", bits(4.15625), Reach::kLinear, "awq", false},
      {"gptq", bits(4.15625), Reach::kLinear, "gptq", false},
      {"mxfp4", bits(4.25), Reach::kExperts, "mxfp4", false},
      {"nvfp4", bits(4.5), Reach::kLinear, "modelopt_fp4", false},
      {"bnb4", bits(4.5), Reach::kLinear, "bitsandbytes", true},
      {"q4_0", bits(4.5), Reach::kAll, "gguf", false},
      {"q4_k", bits(4.5), Reach::kAll, "gguf", false},
      {"q4_k_m", bits(4.85), Reach::kAll, "gguf", false},
      {"q5_k", bits(5.5), Reach::kAll, "gguf", false},
      {"q6_k", bits(6.5625), Reach::kAll, "gguf", false},
      {"q8_0", bits(8.5), Reach::kAll, "gguf", false},
      {"int4", bits(4.15625), Reach::kLinear, "", false},
  }};
  return table;
}

constexpr std::array<KvFormat, 8> kKvFormats{{
    {"auto", 16 << 4, 0, 0, true, true, "auto"},
    {"bfloat16", 16 << 4, 0, 0, true, true, "bf16"},
    {"float16", 16 << 4, 0, 0, true, true, "auto"},
    {"fp8", 8 << 4, 0, 0, true, true, "fp8_e4m3"},
    {"fp8_ds_mla", 0, 0, 656, true, false, ""},
    {"int8_per_token_head", 8 << 4, 4, 0, false, true, ""},
    {"fp8_per_token_head", 8 << 4, 4, 0, false, true, ""},
    // 4 bits, and a scale of 8 for 16 of them: d/2 + d/16 bytes of d numbers.
    {"nvfp4", (4 << 4) + 8, 0, 0, false, true, ""},
}};

template <typename Table>
Error unknown(const char* what, std::string_view name, const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return {ErrorCode::kUsage, std::string(what) + " \"" + std::string(name) +
                                 "\" is not known; accepted: " + listed(names)};
}

std::string formatName(std::string_view name) {
  std::string plain = plainName(name);
  for (char& c : plain) {
    if (c == '-') c = '_';
  }
  return plain;
}

}  // namespace

std::span<const WeightFormat> weightFormats() {
  return weightTable();
}

Result<WeightFormat> findWeightFormat(std::string_view name) {
  std::string wanted = formatName(name);
  if (wanted == "bfloat16") wanted = "bf16";
  if (wanted == "float16" || wanted == "half") wanted = "fp16";
  if (wanted == "float32" || wanted == "float") wanted = "fp32";
  for (const WeightFormat& format : weightTable()) {
    if (format.name == wanted) return format;
  }
  return unknown("--dtype", name, weightTable());
}

WeightFormat groupedFormat(const std::string& name, std::uint32_t width, std::uint32_t group) {
  WeightFormat format;
  format.name = name;
  format.reach = Reach::kLinear;
  format.bits_1024 = width << 10;
  if (group != 0) format.bits_1024 += ((16 + width) * 1024 + group - 1) / group;
  return format;
}

std::span<const KvFormat> kvFormats() {
  return kKvFormats;
}

Result<KvFormat> findKvFormat(std::string_view name) {
  std::string wanted = formatName(name);
  if (wanted == "bf16") wanted = "bfloat16";
  if (wanted == "fp16") wanted = "float16";
  if (wanted == "fp8_e4m3" || wanted == "fp8_e5m2") wanted = "fp8";
  for (const KvFormat& format : kKvFormats) {
    if (format.name == wanted) return format;
  }
  return unknown("--kv-dtype", name, kKvFormats);
}

}  // namespace divvy::sizing
