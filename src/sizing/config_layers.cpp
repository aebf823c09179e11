// Attention, dense layers and experts of a configuration.
#include <algorithm>

#include "config_parts.h"

namespace divvy::sizing {
namespace {

void readBiases(Draft& draft) {
  static constexpr Family kPlain{};
  const Family& family = draft.family != nullptr ? *draft.family : kPlain;
  ModelShape& m = draft.model;
  const bool all = draft.fields.flag("use_bias", draft.fields.flag("bias", true));
  m.gated = family.gated;
  m.norm_bias = family.norm_bias;
  m.head_bias = family.head_bias;
  m.norms = family.norms;
  m.qk_norm = family.qk_norm;
  const bool attention = draft.fields.flag("attention_bias", false);
  m.qkv_bias = (family.qkv_bias && all) || attention;
  m.out_bias = (family.out_bias && all) || (attention && !draft.is("glm"));
  m.mlp_bias = (family.mlp_bias && all) || draft.fields.flag("mlp_bias", false);
  m.sinks = draft.is("gpt_oss");
  m.output_gate = draft.is("qwen3_next");
  if (draft.is("cohere") && draft.fields.flag("use_qk_norm", false)) m.qk_norm = QkNorm::kWhole;
  if (family.learned_positions && m.max_context != 0)
    m.positions = m.max_context + family.extra_positions;
}

std::uint64_t keyHeads(Draft& draft) {
  ModelShape& m = draft.model;
  Fields& fields = draft.fields;
  if (draft.is("falcon") && !fields.flag("new_decoder_architecture", false))
    return fields.flag("multi_query", true) ? 1 : m.heads;
  const auto kv =
      fields.count({"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}, kHeads);
  if (kv) return *kv;
  if (fields.flag("multi_query", false)) return 1;
  if (draft.is("gemma3_text")) return 4;
  if (draft.family == nullptr && !fields.has("kv_lora_rank")) {
    draft.assume("num_key_value_heads is not there: as many as num_attention_heads, " +
                 std::to_string(m.heads));
  }
  return m.heads;
}

void readLatent(Draft& draft) {
  Fields& fields = draft.fields;
  Latent& l = draft.model.latent;
  l.kv_rank = fields.countOr({"kv_lora_rank"}, kWidth, 0);
  if (l.kv_rank == 0) return;
  l.q_rank = fields.countOr({"q_lora_rank"}, kWidth, 0);
  l.rope = fields.need({"qk_rope_head_dim"}, kHeads);
  l.nope = fields.need({"qk_nope_head_dim"}, kHeads);
  l.value = fields.need({"v_head_dim"}, kHeads);
}

// Layers with experts, of those that the various ways of saying it leave dense.
std::uint64_t layersWithExperts(Draft& draft) {
  Fields& fields = draft.fields;
  const std::uint64_t layers = draft.model.layers;
  const std::uint64_t dense = fields.countOr({"first_k_dense_replace"}, {0, 10'000}, 0);
  const std::uint64_t step = fields.countOr(
      {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq", "expert_layer_period"},
      kLayers, 1);
  const std::uint64_t offset = fields.countOr({"expert_layer_offset"}, {0, 10'000}, step - 1);
  std::uint64_t with = 0;
  for (std::uint64_t i = std::min(dense, layers); i < layers; ++i)
    with += i % step == offset % step;
  if (const bj::array* only = fields.list("mlp_only_layers")) {
    with -= std::min<std::uint64_t>(with, only->size());
  }
  return with;
}

}  // namespace

void readAttention(Draft& draft) {
  ModelShape& m = draft.model;
  Fields& fields = draft.fields;
  const bool gemma = draft.is("gemma3_text");
  m.heads = gemma ? fields.countOr({"num_attention_heads"}, kHeads, 8)
                  : fields.need({"num_attention_heads", "n_head", "num_heads"}, kHeads);
  m.kv_heads = keyHeads(draft);
  readLatent(draft);
  const auto head_dim = fields.count({"head_dim", "kv_channels", "attention_head_size"}, kHeads);
  m.head_dim = head_dim ? *head_dim : gemma ? 256 : m.hidden / std::max<std::uint64_t>(m.heads, 1);
  readBiases(draft);
  if (!fields.ok()) return;
  if (!head_dim && !gemma && !m.isLatent() && m.hidden % m.heads != 0) {
    fields.fail("num_attention_heads", std::to_string(m.heads) + " does not divide hidden_size " +
                                           std::to_string(m.hidden) + "; say head_dim");
  }
  if (m.heads % m.kv_heads != 0) {
    fields.fail("num_key_value_heads", std::to_string(m.kv_heads) +
                                           " is not accepted; a divisor of num_attention_heads " +
                                           std::to_string(m.heads) + " is");
  }
}

void readDense(Draft& draft) {
  ModelShape& m = draft.model;
  const Fields::Range wide{1, 1 << 24};
  // Llama 4 has intermediate_size for its experts.
  auto found = draft.fields.count({"intermediate_size_mlp"}, wide);
  if (!found)
    found =
        draft.fields.count({"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"}, wide);
  m.intermediate = found.value_or(4 * m.hidden);
  if (!found && draft.family == nullptr) {
    draft.assume("intermediate_size is not there: 4 x hidden_size, " +
                 std::to_string(m.intermediate));
  }
}

void readExperts(Draft& draft) {
  ModelShape& m = draft.model;
  Fields& fields = draft.fields;
  Experts& e = m.experts;
  e.count =
      fields.countOr({"num_local_experts", "num_experts", "n_routed_experts"}, {0, 1 << 16}, 0);
  if (e.count <= 1) {
    e = {};
    return;
  }
  const Fields::Range wide{1, 1 << 24};
  e.intermediate =
      fields.countOr({"moe_intermediate_size", "intermediate_size"}, wide, m.intermediate);
  e.active =
      fields.need({"num_experts_per_tok", "num_experts_per_token", "moe_topk"}, {1, 1 << 16});
  const std::uint64_t shared = fields.countOr({"n_shared_experts"}, {0, 1 << 10}, 0);
  e.shared_intermediate =
      fields.countOr({"shared_expert_intermediate_size"}, {0, 1 << 24},
                     draft.is("llama4_text") ? e.intermediate : shared * e.intermediate);
  e.shared_gate = e.shared_intermediate != 0 && (draft.is("qwen2_moe") || draft.is("qwen3_next"));
  e.layers = layersWithExperts(draft);
  e.bias = draft.is("gpt_oss");
  e.router_bias = draft.family != nullptr && draft.family->router_bias;
  if (e.active > e.count) {
    fields.fail("num_experts_per_tok", std::to_string(e.active) + " is more than the " +
                                           std::to_string(e.count) + " experts");
  }
}

void readVision(Draft& draft) {
  const std::optional<Fields> vision = draft.thinker.object("vision_config");
  if (!vision) return;
  Fields fields = *vision;
  const auto hidden = fields.count({"hidden_size", "embed_dim", "width"}, kWidth);
  const auto layers = fields.count({"num_hidden_layers", "depth", "layers"}, kLayers);
  if (!hidden || !layers) {
    draft.assume("vision_config has no known sizes: the vision tower is not counted");
    return;
  }
  const std::uint64_t h = *hidden;
  const std::uint64_t wide = fields.countOr({"intermediate_size"}, {1, 1 << 24}, 4 * h);
  const std::uint64_t patch = fields.countOr({"patch_size"}, {1, 4096}, 14);
  const std::uint64_t side = fields.countOr({"image_size"}, {1, 1 << 16}, 224) / patch;
  const std::uint64_t each = 4 * (h * h + h) + 2 * h * wide + wide + h + 4 * h;
  const std::uint64_t tower = 3 * patch * patch * h + h + side * side * h + *layers * each + 2 * h;
  draft.model.other_parameters = tower + h * draft.model.hidden + h;
  if (!draft.is("gemma3_text")) {
    draft.assume("the vision tower is counted as a plain one (SigLIP) with one projection");
  }
}

}  // namespace divvy::sizing
