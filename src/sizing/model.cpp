#include "sizing/model.h"

#include <algorithm>

namespace divvy::sizing {
namespace {

// Wide enough for every product of fields that the reader lets through.
using Wide = unsigned __int128;

Wide latentAttention(const ModelShape& m) {
  const Latent& l = m.latent;
  const Wide q = m.heads;
  const Wide head = l.nope + l.rope;
  const Wide queries = l.q_rank != 0
                           ? Wide(m.hidden) * l.q_rank + l.q_rank + Wide(l.q_rank) * q * head
                           : Wide(m.hidden) * q * head;
  return queries + Wide(m.hidden) * (l.kv_rank + l.rope) + l.kv_rank +
         Wide(l.kv_rank) * q * (l.nope + l.value) + q * l.value * m.hidden;
}

Wide plainAttention(const ModelShape& m) {
  const Wide q = Wide(m.heads) * m.head_dim;
  const Wide kv = Wide(m.kv_heads) * m.head_dim;
  Wide count = m.hidden * (q * (m.output_gate ? 2 : 1) + 2 * kv) + q * m.hidden;
  if (m.qkv_bias) count += q + 2 * kv;
  if (m.out_bias) count += m.hidden;
  if (m.sinks) count += m.heads;
  if (m.qk_norm == QkNorm::kPerHead) count += 2 * Wide(m.head_dim);
  if (m.qk_norm == QkNorm::kWhole) count += q + kv;
  return count;
}

Wide denseLayer(const ModelShape& m) {
  const Wide wide = m.gated ? 2 : 1;
  Wide count = (wide + 1) * m.hidden * m.intermediate;
  if (m.mlp_bias) count += wide * m.intermediate + m.hidden;
  return count;
}

// Of one layer: what goes with the routed experts' own matrices.
Wide besideExperts(const ModelShape& m) {
  const Experts& e = m.experts;
  Wide count = Wide(m.hidden) * e.count + 3 * Wide(m.hidden) * e.shared_intermediate;
  if (e.shared_gate) count += m.hidden;
  if (e.router_bias) count += e.count;
  if (e.bias) count += Wide(e.count) * (2 * Wide(e.intermediate) + m.hidden);
  return count;
}

std::string windowWords(const ModelShape& m) {
  std::string words;
  for (const CacheGroup& group : m.cache) {
    if (group.kind == CacheKind::kFull) continue;
    words += ", " + std::to_string(group.layers) + " of " + std::to_string(m.layers) + " layers ";
    words += group.kind == CacheKind::kCross ? "keep " : "see ";
    words += std::to_string(group.window) + " tokens";
  }
  if (m.recurrent.layers != 0) {
    words += ", " + std::to_string(m.recurrent.layers) + " of " + std::to_string(m.layers) +
             " layers keep a state";
  }
  return words;
}

}  // namespace

Result<Parameters> countParameters(const ModelShape& m) {
  const Wide norm = Wide(m.hidden) * (m.norm_bias ? 2 : 1);
  const Wide attention = m.isLatent() ? latentAttention(m) : plainAttention(m);
  const std::uint64_t with_experts =
      std::min(m.experts.count == 0 ? 0 : m.experts.layers, m.layers);
  const std::uint64_t attending = m.layers - std::min(m.recurrent.layers, m.layers);

  const Wide embeddings = Wide(m.vocabulary) * m.hidden * (m.tied ? 1 : 2) +
                          (m.head_bias ? m.vocabulary : 0) + Wide(m.positions) * m.hidden;
  const Wide experts = Wide(with_experts) * m.experts.count * 3 * m.hidden * m.experts.intermediate;
  const Wide linear = Wide(m.layers) * m.norms * norm + norm + Wide(attending) * attention +
                      Wide(m.recurrent.layers) * m.recurrent.parameters +
                      Wide(m.layers - with_experts) * denseLayer(m) +
                      Wide(with_experts) * besideExperts(m);
  if (embeddings + experts + linear + m.other_parameters > kMaxParameters) {
    return Error{ErrorCode::kUsage, "a model of this shape has more than " +
                                        std::to_string(kMaxParameters / 1'000'000'000'000) +
                                        " T parameters; look for a field that is too large"};
  }
  return Parameters{static_cast<std::uint64_t>(embeddings), static_cast<std::uint64_t>(experts),
                    static_cast<std::uint64_t>(linear), m.other_parameters};
}

std::string attentionWords(const ModelShape& model) {
  std::string words = model.isLatent()                ? "MLA"
                      : model.kv_heads == 1           ? "MQA"
                      : model.kv_heads == model.heads ? "MHA"
                                                      : "GQA";
  return words + windowWords(model);
}

}  // namespace divvy::sizing
