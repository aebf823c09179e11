#include "sizing/answer.h"

#include <algorithm>

#include "check.h"

namespace divvy::sizing {
namespace {

using Wide = unsigned __int128;

// Rules fitted to measurements; docs/guides/sizing.md has them with their sources.
constexpr std::uint64_t kSamplerBytes = 38;  // per sequence and word of the vocabulary
constexpr Bytes kActivationBase = mib(128);
constexpr Bytes kMinActivation = mib(410);
constexpr Bytes kGraphBytes = mib(1065);       // mean of 0.51 to 1.85 GiB
constexpr Bytes kRuntimeAlone = mib(276);      // 0.27 GiB
constexpr Bytes kRuntimeTogether = mib(2150);  // 2.10 GiB: NCCL's buffers
constexpr std::uint64_t kSafetyPercent = 3;    // where the engine is told the cache's bytes
constexpr unsigned kUsualUtilization = 920;    // of engines that are not told
constexpr std::uint64_t kSpread = 11;          // tenths of the average length that are provided

constexpr Wide roundUp(Wide value, Wide step) {
  return (value + step - 1) / step * step;
}

Bytes bytesOf(Wide count) {
  return {count > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(count)};
}

std::string thousands(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string times(std::uint64_t count, const char* what) {
  return thousands(count) + " " + what + (count == 1 ? "" : "s");
}

std::string onEach(std::uint64_t gpus) {
  return gpus == 1 ? "" : ", divided over " + std::to_string(gpus) + " devices";
}

std::string decimals(double value) {
  std::string text = std::to_string(value);
  text.resize(text.find('.') + 4);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

const char* kindName(CacheKind kind) {
  switch (kind) {
    case CacheKind::kSliding:
      return "kv cache, sliding";
    case CacheKind::kChunked:
      return "kv cache, chunked";
    case CacheKind::kCross:
      return "kv cache, encoder";
    case CacheKind::kFull:
      break;
  }
  return "kv cache";
}

// Tokens for which a group has blocks while a sequence of n runs.
Wide keptTokens(const CacheGroup& group, const Question& q, std::uint64_t n) {
  const Wide block = q.block;
  switch (group.kind) {
    case CacheKind::kSliding:
      return roundUp(std::min<Wide>(Wide(group.window) - 1 + q.steps(), n), block) + block;
    case CacheKind::kChunked:
      return roundUp(std::min<Wide>(Wide(group.window) + q.steps(), n), block);
    case CacheKind::kCross:
      return roundUp(group.window, block);
    case CacheKind::kFull:
      break;
  }
  return roundUp(n, block);
}

// All sequences at the average length, with a tenth more, and never less than one whole context:
// engines refuse to start without room for it.
Wide cacheOfAll(const ModelShape& model, const CacheGroup& group, const Question& q) {
  const Wide whole = cacheBytes(model, group, q, q.context).count;
  if (!q.average) return whole * q.concurrency;
  const std::uint64_t provided = std::min((*q.average * kSpread + 9) / 10, q.context);
  return std::max(whole, Wide(cacheBytes(model, group, q, provided).count) * q.concurrency);
}

std::string cacheWhy(const ModelShape& model, const CacheGroup& group, const Question& q) {
  std::string why = times(q.concurrency, "sequence");
  why += q.average ? " of " + thousands(*q.average) + " tokens on average (and a tenth)"
                   : " of " + thousands(q.context) + " tokens";
  if (group.kind != CacheKind::kFull) why += ", " + thousands(group.window) + " kept of each";
  why += " x " + thousands(group.layers * tokenBytes(model, q.kv, q.gpus)) + " B";
  if (q.gpus > 1 && model.isLatent()) why += ", the same on each device";
  return why;
}

void addWeights(const Question& q, Answer& out) {
  const bool stored = q.checkpoint && !q.weights;
  out.weights = stored ? Bytes{(q.checkpoint->count + q.gpus - 1) / q.gpus}
                       : weightBytes(out.parameters, out.format, q.gpus);
  const std::string what =
      stored ? "tensors of the checkpoint"
             : thousands(out.parameters.total()) + " parameters in " + out.format.name;
  out.terms.push_back(
      {TermKind::kWeights, "weights", out.weights, Confidence::kExact, what + onEach(q.gpus)});
}

void addCache(const ModelShape& model, const Question& q, Answer& out) {
  for (const CacheGroup& group : model.cache) {
    if (group.layers == 0) continue;
    const Bytes bytes = bytesOf(cacheOfAll(model, group, q));
    const bool plain = group.kind == CacheKind::kFull && model.cache.size() == 1;
    out.terms.push_back({TermKind::kCache, kindName(group.kind), bytes,
                         plain && !q.average ? Confidence::kExact : Confidence::kNear,
                         cacheWhy(model, group, q)});
    out.cache = out.cache + bytes;
    out.token_bytes += group.layers * tokenBytes(model, q.kv, q.gpus);
  }
  if (model.recurrent.layers == 0) return;
  // Twice: the state, and the one that prefix caching keeps.
  const Wide each = 2 * Wide(model.recurrent.layers) * model.recurrent.state_bytes;
  const Bytes bytes = bytesOf((each * q.concurrency + q.gpus - 1) / q.gpus);
  out.terms.push_back({TermKind::kState, "states", bytes, Confidence::kNear,
                       times(q.concurrency, "sequence") + " x 2 x " +
                           thousands(model.recurrent.layers) + " layers x " +
                           thousands(model.recurrent.state_bytes) + " B"});
  out.cache = out.cache + bytes;
}

void addOverheads(const ModelShape& model, const Question& q, Answer& out) {
  out.terms.push_back({TermKind::kActivations, "activations", activationBytes(model, q),
                       Confidence::kRule,
                       "steps of " + thousands(q.steps()) + " tokens, logits of " +
                           times(q.sequences(), "sequence")});
  if (!q.eager) {
    out.terms.push_back({TermKind::kGraphs, "cuda graphs", kGraphBytes, Confidence::kRule,
                         "0.5 to 1.9 GiB were measured"});
  }
  out.terms.push_back({TermKind::kRuntime, "runtime",
                       q.gpus == 1 ? kRuntimeAlone : kRuntimeTogether, Confidence::kRule,
                       q.gpus == 1 ? "libraries of the engine" : "libraries of the engine, NCCL"});
}

// Rounded down: what is left holds the context.
unsigned utilizationOf(Bytes request, const Question& q) {
  const unsigned wanted = q.utilization == 0 ? kUsualUtilization : q.utilization;
  const Wide most = Wide((request - q.context_cost).count) * 1000 / request.count;
  return std::min(wanted, static_cast<unsigned>(most));
}

Term headroom(Bytes sum, Bytes request, const Question& q) {
  const std::string context = formatBytes(q.context_cost) + " of CUDA context";
  const std::string why = q.utilization == 0
                              ? context + ", 3 % reserve"
                              : "the engine fills " + decimals(utilizationOf(request, q) / 1000.0) +
                                    " of the visible memory; " + context + " is in the rest";
  return {TermKind::kHeadroom, "headroom", request - sum, Confidence::kRule, why};
}

}  // namespace

std::uint64_t Question::steps() const {
  return batched_tokens != 0 ? batched_tokens : std::max(kDefaultBatchedTokens, sequences());
}

std::uint64_t Question::sequences() const {
  return max_sequences != 0 ? max_sequences : concurrency;
}

Bytes weightBytes(const Parameters& p, const WeightFormat& format, std::uint64_t gpus) {
  // A dense model has no experts: then a format for them is for all layers.
  const bool experts_only = format.reach == Reach::kExperts && p.experts != 0;
  Wide inside = p.experts;
  Wide outside = p.other;
  (experts_only ? outside : inside) += p.linear;
  (format.reach == Reach::kAll ? inside : outside) += p.embeddings;
  const Wide kept_bits =
      format.reach == Reach::kAll ? std::max<Wide>(format.bits_1024, 16 << 10) : Wide(16 << 10);
  const Wide bits_1024 = inside * format.bits_1024 + outside * kept_bits;
  return bytesOf((bits_1024 + 8192 * Wide(gpus) - 1) / (8192 * Wide(gpus)));
}

std::uint64_t tokenBytes(const ModelShape& model, const KvFormat& kv, std::uint64_t gpus) {
  if (model.isLatent()) {
    if (kv.latent_bytes != 0) return kv.latent_bytes;
    return ((model.latent.kv_rank + model.latent.rope) * kv.bits_16 + 127) / 128;
  }
  const std::uint64_t heads = std::max<std::uint64_t>(1, model.kv_heads / gpus);
  return 2 * heads * ((model.head_dim * kv.bits_16 + 127) / 128 + kv.scale_bytes);
}

Bytes cacheBytes(const ModelShape& model, const CacheGroup& group, const Question& q,
                 std::uint64_t tokens) {
  return bytesOf(keptTokens(group, q, tokens) * group.layers * tokenBytes(model, q.kv, q.gpus));
}

Bytes activationBytes(const ModelShape& model, const Question& q) {
  const Wide sampler = Wide(kSamplerBytes) * q.sequences() * model.vocabulary;
  const std::uint64_t routed =
      model.experts.active * model.experts.intermediate + model.experts.shared_intermediate;
  const std::uint64_t wide = std::max(model.intermediate, routed);
  // Both projections, their product; the hidden state twice. Two bytes each.
  const Wide forward = Wide(q.steps()) * (6 * Wide(wide) + 4 * Wide(model.hidden));
  return std::max(kMinActivation, kActivationBase + bytesOf(std::max(sampler, forward)));
}

Bytes requestFor(Bytes sum, const Question& q) {
  const Wide all = Wide(sum.count) + q.context_cost.count;
  Wide need = all;
  if (q.utilization == 0) {
    need = (all * (100 + kSafetyPercent) + 99) / 100;
  } else {
    // The context stays outside of what is filled, of which a thousandth is lost by rounding.
    need = std::max((all * 1000 + 998) / 999,
                    (Wide(sum.count) * 1000 + q.utilization - 1) / q.utilization);
  }
  return bytesOf(roundUp(need, kGrain.count));
}

Result<Answer> answer(const ModelShape& model, const Question& q) {
  const Result<void> good = check(model, q);
  if (!good) return good.error();
  const Result<Parameters> parameters = countParameters(model);
  if (!parameters) return parameters.error();
  Answer out;
  out.parameters = *parameters;
  out.format = q.weights ? *q.weights : model.stored;
  addWeights(q, out);
  addCache(model, q, out);
  addOverheads(model, q, out);
  Bytes sum;
  for (const Term& term : out.terms) sum = sum + term.bytes;
  out.request = requestFor(sum, q);
  if (out.request.count > INT64_MAX) {
    return Error{
        ErrorCode::kUsage,
        "that is more memory than can be counted; ask for less --context or --concurrency"};
  }
  out.utilization = utilizationOf(out.request, q);
  out.terms.push_back(headroom(sum, out.request, q));
  return out;
}

}  // namespace divvy::sizing
