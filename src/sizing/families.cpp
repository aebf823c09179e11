#include "families.h"

namespace divvy::sizing {
namespace {

constexpr Family kFamilies[] = {
    {.model_type = "llama"},
    {.model_type = "mistral"},
    {.model_type = "mixtral"},
    {.model_type = "phi3"},
    {.model_type = "granite"},
    {.model_type = "internlm2"},
    {.model_type = "smollm3", .tied = true},
    {.model_type = "qwen2", .qkv_bias = true},
    {.model_type = "qwen2_moe", .qkv_bias = true},
    {.model_type = "qwen3", .qk_norm = QkNorm::kPerHead},
    {.model_type = "qwen3_moe", .qk_norm = QkNorm::kPerHead},
    {.model_type = "qwen3_next", .qk_norm = QkNorm::kPerHead},
    {.model_type = "gemma", .tied = true},
    {.model_type = "gemma2", .tied = true, .norms = 4},
    {.model_type = "gemma3_text", .tied = true, .norms = 4, .qk_norm = QkNorm::kPerHead},
    {.model_type = "glm", .qkv_bias = true},
    {.model_type = "olmo2", .qk_norm = QkNorm::kWhole},
    {.model_type = "olmoe", .qk_norm = QkNorm::kWhole},
    {.model_type = "cohere", .tied = true, .norms = 1},
    {.model_type = "deepseek_v2"},
    {.model_type = "deepseek_v3", .router_bias = true},
    {.model_type = "kimi_k2", .router_bias = true},
    {.model_type = "gpt_oss", .qkv_bias = true, .out_bias = true, .router_bias = true},
    {.model_type = "llama4_text"},
    {.model_type = "jamba"},
    {.model_type = "falcon", .tied = true, .gated = false, .norm_bias = true, .norms = 1},
    {.model_type = "phi",
     .gated = false,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .head_bias = true,
     .norms = 1},
    {.model_type = "starcoder2",
     .tied = true,
     .gated = false,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true},
    {.model_type = "gpt2",
     .tied = true,
     .gated = false,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .learned_positions = true},
    {.model_type = "opt",
     .tied = true,
     .gated = false,
     .qkv_bias = true,
     .out_bias = true,
     .mlp_bias = true,
     .norm_bias = true,
     .learned_positions = true,
     .extra_positions = 2},
};

}  // namespace

const Family* findFamily(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace divvy::sizing
