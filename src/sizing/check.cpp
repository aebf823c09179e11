#include "check.h"

#include "sizing/names.h"

namespace divvy::sizing {
namespace {

Error refuse(const std::string& what, std::uint64_t value, const std::string& accepted) {
  return {ErrorCode::kUsage, what + " " + std::to_string(value) + " is not accepted; " + accepted};
}

Result<void> within(const std::string& what, std::uint64_t value, std::uint64_t most) {
  if (value >= 1 && value <= most) return {};
  return refuse(what, value, "a whole number from 1 to " + std::to_string(most) + " is");
}

Result<void> checkBatch(const Question& q) {
  if (q.steps() < q.sequences()) {
    return refuse("--max-num-batched-tokens", q.steps(),
                  "at least the " + std::to_string(q.sequences()) + " sequences of a step are");
  }
  if (q.sequences() < q.concurrency) {
    return refuse("--max-num-seqs", q.sequences(),
                  "at least --concurrency " + std::to_string(q.concurrency) + " is");
  }
  if (q.utilization > 1000) return refuse("--utilization", q.utilization, "at most 1000 is");
  return {};
}

}  // namespace

std::vector<std::uint64_t> possibleGpus(const ModelShape& model) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t n = 1; n <= kMaxGpus; ++n) {
    if (model.heads % n != 0) continue;
    // Each card has whole heads of keys, or several cards have the same one.
    if (!model.isLatent() && model.kv_heads % n != 0 && n % model.kv_heads != 0) continue;
    counts.push_back(n);
  }
  return counts;
}

Result<void> check(const ModelShape& model, const Question& q) {
  const std::pair<const char*, std::pair<std::uint64_t, std::uint64_t>> ranges[] = {
      {"--context", {q.context, kMaxTokens}},
      {"--concurrency", {q.concurrency, kMaxSequences}},
      {"--max-num-batched-tokens", {q.steps(), kMaxTokens}},
      {"--max-num-seqs", {q.sequences(), kMaxSequences}},
      {"block size", {q.block, 65536}},
      {"--gpus", {q.gpus, kMaxGpus}}};
  for (const auto& [what, range] : ranges) {
    const Result<void> good = within(what, range.first, range.second);
    if (!good) return good;
  }
  if (q.average && (*q.average == 0 || *q.average > q.context)) {
    return refuse("--avg-len", *q.average,
                  "a whole number from 1 to --context " + std::to_string(q.context) + " is");
  }
  const Result<void> batch = checkBatch(q);
  if (!batch) return batch;
  std::vector<std::string> counts;
  bool divides = false;
  for (const std::uint64_t n : possibleGpus(model)) {
    counts.push_back(std::to_string(n));
    divides = divides || n == q.gpus;
  }
  if (!divides) {
    return refuse("--gpus", q.gpus,
                  model.name + " has " + std::to_string(model.heads) + " heads, of keys " +
                      std::to_string(model.kv_heads) + "; accepted: " + listed(counts));
  }
  if (model.isLatent() ? !q.kv.for_latent : !q.kv.for_plain) {
    return Error{ErrorCode::kUsage, "--kv-dtype " + std::string(q.kv.name) + " is not known for " +
                                        (model.isLatent() ? "" : "other attention than ") + "MLA"};
  }
  if (q.kv.latent_bytes != 0 && (model.latent.kv_rank != 512 || model.latent.rope != 64)) {
    return Error{ErrorCode::kUsage,
                 "--kv-dtype " + std::string(q.kv.name) +
                     " is for latents of 512 and 64 numbers; this model's have " +
                     std::to_string(model.latent.kv_rank) + " and " +
                     std::to_string(model.latent.rope)};
  }
  return {};
}

}  // namespace divvy::sizing
