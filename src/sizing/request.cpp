#include "sizing/request.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace divvy::sizing {
namespace {

// "8192", "8k" (units of 1024), "1M".
Result<std::uint64_t> readTokens(std::string_view text, const std::string& what,
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

Result<std::uint64_t> readGpus(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= kMaxGpus)
    return count;
  return Error{ErrorCode::kUsage, "--gpus \"" + std::string(text) +
                                      "\" is not accepted; a whole number from 1 to " +
                                      std::to_string(kMaxGpus) + " is"};
}

// "0.92" as 920, "off" as 0.
Result<unsigned> readUtilization(std::string_view text) {
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

Result<void> readCounts(const RequestWords& words, Request& request) {
  struct {
    const std::string& given;
    const char* name;
    std::uint64_t most;
    std::uint64_t& target;
  } const counts[] = {
      {words.context, "--context", kMaxTokens, request.question.context},
      {words.concurrency, "--concurrency", kMaxSequences, request.question.concurrency},
      {words.batched_tokens, "--max-num-batched-tokens", kMaxTokens,
       request.question.batched_tokens},
      {words.max_sequences, "--max-num-seqs", kMaxSequences, request.question.max_sequences}};
  for (const auto& count : counts) {
    if (count.given.empty()) continue;
    const Result<std::uint64_t> value = readTokens(count.given, count.name, count.most);
    if (!value) return value.error();
    count.target = *value;
  }
  request.context_given = !words.context.empty();
  if (!words.average.empty()) {
    const Result<std::uint64_t> average = readTokens(words.average, "--avg-len", kMaxTokens);
    if (!average) return average.error();
    request.question.average = *average;
  }
  return {};
}

Result<void> readFormats(const RequestWords& words, Request& request) {
  if (!words.dtype.empty() && words.dtype != "auto") {
    Result<WeightFormat> format = findWeightFormat(words.dtype);
    if (!format) return format.error();
    request.question.weights = std::move(*format);
  }
  if (!words.kv_dtype.empty()) {
    const Result<KvFormat> format = findKvFormat(words.kv_dtype);
    if (!format) return format.error();
    request.question.kv = *format;
  }
  if (!words.utilization.empty()) {
    const Result<unsigned> part = readUtilization(words.utilization);
    if (!part) return part.error();
    request.question.utilization = *part;
  }
  return {};
}

Result<void> readCards(const RequestWords& words, Request& request) {
  if (!words.gpu.empty()) {
    Result<Card> card = findCard(words.gpu);
    if (!card) return card.error();
    request.card = std::move(*card);
  }
  if (!words.gpus.empty()) {
    const Result<std::uint64_t> gpus = readGpus(words.gpus);
    if (!gpus) return gpus.error();
    request.gpus = *gpus;
  }
  if (!words.engine.empty()) {
    const Result<Engine> engine = findEngine(words.engine);
    if (!engine) return engine.error();
    request.engine = *engine;
  }
  return {};
}

}  // namespace

Result<Request> readRequest(const RequestWords& words) {
  Request request;
  request.question.eager = words.eager;
  for (const Result<void>& read :
       {readCounts(words, request), readFormats(words, request), readCards(words, request)})
    if (!read) return read.error();
  return request;
}

}  // namespace divvy::sizing
