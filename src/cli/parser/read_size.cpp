// Options of `divvy size`, from words.
#include <charconv>

#include "options/raw_options.h"
#include "sizing/cards.h"

namespace divvy::cli {
namespace {

// "8192", "8k" (units of 1024), "1M".
Result<std::uint64_t> parseTokens(std::string_view text, const std::string& what,
                                  std::uint64_t most) {
  const Error bad(ErrorCode::kUsage, what + " \"" + std::string(text) +
                                         "\" is not accepted; a whole number from 1 to " +
                                         std::to_string(most) + " is (8k is 8192)");
  std::string_view digits = text;
  std::uint64_t unit = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) unit = 1 << 10;
  if (digits.ends_with('m') || digits.ends_with('M')) unit = 1 << 20;
  if (unit != 1) digits.remove_suffix(1);
  std::uint64_t count = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (fault != std::errc{} || end != digits.data() + digits.size()) return bad;
  if (count == 0 || count > most / unit) return bad;
  return count * unit;
}

// "0.92" as 920, "off" as 0.
Result<unsigned> parseUtilization(std::string_view text) {
  const Error bad(ErrorCode::kUsage,
                  "--utilization \"" + std::string(text) +
                      "\" is not accepted; a fraction from 0.1 to 1, or off, is");
  if (text == "off") return 0u;
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return bad;
  if (!(value >= 0.1 && value <= 1.0)) return bad;
  return static_cast<unsigned>(value * 1000 + 0.5);
}

Result<void> readCounts(const SizeText& text, SizeOptions& size) {
  struct {
    const std::string& given;
    const char* name;
    std::uint64_t most;
    std::uint64_t& target;
  } const counts[] = {
      {text.context, "--context", sizing::kMaxTokens, size.question.context},
      {text.concurrency, "--concurrency", sizing::kMaxSequences, size.question.concurrency},
      {text.batched_tokens, "--max-num-batched-tokens", sizing::kMaxTokens,
       size.question.batched_tokens},
      {text.max_sequences, "--max-num-seqs", sizing::kMaxSequences, size.question.max_sequences}};
  for (const auto& count : counts) {
    if (count.given.empty()) continue;
    const Result<std::uint64_t> value = parseTokens(count.given, count.name, count.most);
    if (!value) return value.error();
    count.target = *value;
  }
  size.context_given = !text.context.empty();
  if (!text.average.empty()) {
    const Result<std::uint64_t> average =
        parseTokens(text.average, "--avg-len", sizing::kMaxTokens);
    if (!average) return average.error();
    size.question.average = *average;
  }
  return {};
}

Result<void> readFormats(const SizeText& text, SizeOptions& size) {
  if (!text.dtype.empty() && text.dtype != "auto") {
    Result<sizing::WeightFormat> format = sizing::findWeightFormat(text.dtype);
    if (!format) return format.error();
    size.question.weights = std::move(*format);
  }
  if (!text.kv_dtype.empty()) {
    const Result<sizing::KvFormat> format = sizing::findKvFormat(text.kv_dtype);
    if (!format) return format.error();
    size.question.kv = *format;
  }
  if (!text.utilization.empty()) {
    const Result<unsigned> part = parseUtilization(text.utilization);
    if (!part) return part.error();
    size.question.utilization = *part;
  }
  return {};
}

Result<void> readCards(const SizeText& text, SizeOptions& size) {
  if (!text.gpu.empty()) {
    Result<sizing::Card> card = sizing::findCard(text.gpu);
    if (!card) return card.error();
    size.card = std::move(*card);
  }
  if (!text.engine.empty()) {
    const Result<sizing::Engine> engine = sizing::findEngine(text.engine);
    if (!engine) return engine.error();
    size.engine = *engine;
  }
  return {};
}

Result<void> readOutput(const RawOptions& raw, SizeOptions& size) {
  const std::string& how = raw.output;
  if (!how.empty() && how != "table" && how != "json" && how != "yaml") {
    return Error{ErrorCode::kUsage,
                 "--output \"" + how + "\" is not known; accepted: table, json, yaml"};
  }
  size.manifest = raw.size.manifest || how == "yaml";
  if (size.manifest && !how.empty() && how != "yaml")
    return Error{ErrorCode::kUsage, "--manifest implies -o yaml; accepted: one of them"};
  if (size.manifest && size.list)
    return Error{ErrorCode::kUsage, "--list has no manifest; accepted: -o table, json"};
  size.output = Output{how == "json", false, !raw.no_headers, false};
  return {};
}

}  // namespace

Result<Options> makeSize(const RawOptions& raw) {
  const SizeText& text = raw.size;
  SizeOptions size;
  size.list = text.list;
  size.model = text.model;
  if (text.list == !text.model.empty())
    return Error{ErrorCode::kUsage,
                 "size: one of --model and --list is required; accepted: one of them"};
  size.question.eager = text.eager;
  for (const Result<void>& read : {readOutput(raw, size), readCounts(text, size),
                                   readFormats(text, size), readCards(text, size)}) {
    if (!read) return read.error();
  }
  if (!raw.gpus.empty()) {
    const Result<unsigned> gpus = parseCount(raw.gpus, "--gpus", 1, kMaxGpus);
    if (!gpus) return gpus.error();
    size.gpus = *gpus;
  }
  return Options{size};
}

}  // namespace divvy::cli
