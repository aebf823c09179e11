#include <array>

#include "sizing/names.h"
#include "sizing/serving.h"

namespace divvy::sizing {
namespace {

constexpr std::array<std::pair<std::string_view, Engine>, 2> kEngines{
    {{"vllm", Engine::kVllm}, {"sglang", Engine::kSglang}}};

std::string modelWord(const ModelShape& model) {
  return model.repository.empty() ? "MODEL" : model.repository;
}

// Three digits after the point, rounded up: of what the engine may fill it must not get less.
std::string fraction(std::uint64_t part, std::uint64_t whole) {
  using Wide = unsigned __int128;
  const auto mille = static_cast<std::uint64_t>((Wide(part) * 1000 + whole - 1) / whole);
  std::string digits = std::to_string(mille % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return std::to_string(mille / 1000) + "." + digits;
}

class Words {
 public:
  explicit Words(std::vector<std::string> first) : words_(std::move(first)) {}
  Words& flag(const char* name) {
    words_.emplace_back(name);
    return *this;
  }
  Words& with(const char* name, const std::string& value) {
    words_.emplace_back(name);
    words_.push_back(value);
    return *this;
  }
  Words& with(const char* name, std::uint64_t value) { return with(name, std::to_string(value)); }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// What the engine has to be told because the checkpoint does not say it.
std::string quantizationOf(const Serving& s) {
  return s.question.weights ? s.question.weights->quantization : "";
}

std::string plainType(const Serving& s) {
  if (!s.question.weights) return "";
  if (s.question.weights->name == "fp32") return "float32";
  if (s.question.weights->name == "fp16") return "float16";
  if (s.question.weights->name == "bf16") return "bfloat16";
  return "";
}

std::vector<std::string> vllm(const Serving& s) {
  const Question& q = s.question;
  Words words({"vllm", "serve", modelWord(s.model)});
  words.with("--max-model-len", q.context)
      .with("--max-num-seqs", q.sequences())
      .with("--max-num-batched-tokens", q.steps());
  if (q.utilization == 0) {
    words.with("--kv-cache-memory-bytes", s.answer.cache.count);
  }
  // It is looked at even with bytes: whether so much is free.
  words.with("--gpu-memory-utilization", fraction(s.answer.utilization, 1000));
  if (q.gpus > 1) words.with("--tensor-parallel-size", q.gpus);
  if (!plainType(s).empty()) words.with("--dtype", plainType(s));
  if (!quantizationOf(s).empty()) words.with("--quantization", quantizationOf(s));
  if (q.kv.name != "auto") words.with("--kv-cache-dtype", std::string(q.kv.name));
  if (q.eager) words.flag("--enforce-eager");
  return words.take();
}

// Weights and cache are what --mem-fraction-static is of.
std::vector<std::string> sglang(const Serving& s) {
  const Question& q = s.question;
  Words words({"python3", "-m", "sglang.launch_server", "--model-path", modelWord(s.model)});
  words.with("--context-length", q.context)
      .with("--max-running-requests", q.sequences())
      .with("--chunked-prefill-size", q.steps())
      .with("--mem-fraction-static",
            fraction((s.answer.weights + s.answer.cache).count, s.answer.request.count));
  if (q.gpus > 1) words.with("--tp-size", q.gpus);
  if (!plainType(s).empty()) words.with("--dtype", plainType(s));
  if (!quantizationOf(s).empty()) words.with("--quantization", quantizationOf(s));
  if (q.kv.name != "auto") words.with("--kv-cache-dtype", std::string(q.kv.sglang));
  if (q.eager) words.flag("--disable-cuda-graph");
  return words.take();
}

bool plainWord(const std::string& word) {
  for (const char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '/' || c == '=' || c == ':';
    if (!plain) return false;
  }
  return !word.empty();
}

}  // namespace

Result<Engine> findEngine(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [known, engine] : kEngines) {
    if (plainName(name) == known) return engine;
    names.emplace_back(known);
  }
  return Error{ErrorCode::kUsage,
               "--engine \"" + std::string(name) + "\" is not known; accepted: " + listed(names)};
}

Result<std::vector<std::string>> engineCommand(const Serving& serving) {
  if (serving.engine == Engine::kVllm) return vllm(serving);
  if (serving.question.kv.sglang.empty()) {
    std::vector<std::string> known;
    for (const KvFormat& format : kvFormats()) {
      if (!format.sglang.empty()) known.emplace_back(format.name);
    }
    return Error{ErrorCode::kUsage, "--kv-dtype " + std::string(serving.question.kv.name) +
                                        " is not known to sglang; accepted: " + listed(known)};
  }
  return sglang(serving);
}

std::vector<std::string> runCommand(const Serving& s, const std::vector<std::string>& engine) {
  Words words({"divvy", "run"});
  words.with("--memory", std::to_string(s.answer.request.count >> 20) + "Mi");
  if (s.question.gpus > 1) words.with("--gpus", s.question.gpus);
  if (s.cores) words.with("--cores", *s.cores * s.question.gpus);
  if (s.card && !s.card->match.empty()) words.with("--model", s.card->match);
  words.flag("--");
  std::vector<std::string> all = words.take();
  all.insert(all.end(), engine.begin(), engine.end());
  return all;
}

std::string shellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (plainWord(word)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace divvy::sizing
