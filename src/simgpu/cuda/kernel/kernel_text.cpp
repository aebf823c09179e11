// The text image of built-in kernels. First line: the magic and version. Then one per line
//   kernel NAME [= BUILTIN] [cost_ns=N]   a kernel under that name, optionally of fixed duration
//   all                                   every built-in under its own name
//   global NAME BYTES                     zeroed device memory for cuModuleGetGlobal
// Empty lines and lines that begin with # are skipped. For example
//   simgpu-builtin 1
//   kernel train_step = axpy cost_ns=1500000
#include <charconv>
#include <sstream>

#include "cuda/kernel/kernel_builtin.h"
#include "cuda/kernel/kernel_image.h"
#include "simgpu/catalog.h"

namespace divvy::simgpu {
namespace {

constexpr std::string_view kCostKey = "cost_ns=";

bool parseNumber(std::string_view text, std::uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string> wordsOf(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool parseKernel(const std::vector<std::string>& words, KernelImage* image, std::string* why) {
  if (words.size() < 2) return false;
  std::string_view base = words[1];
  std::optional<Nanos> cost;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string_view word = words[i];
    std::uint64_t number = 0;
    if (word == "=" && i + 1 < words.size()) {
      base = words[++i];
    } else if (word.starts_with(kCostKey) && parseNumber(word.substr(kCostKey.size()), &number)) {
      cost = number;
    } else {
      return false;
    }
  }
  const Builtin* builtin = findBuiltin(base);
  if (builtin == nullptr) {
    *why = "no built-in kernel \"" + std::string(base) + "\"";
    return false;
  }
  image->kernels.push_back(makeBuiltin(*builtin, words[1], cost));
  return true;
}

bool parseLine(const std::vector<std::string>& words, KernelImage* image, std::string* why) {
  if (words.empty() || words[0].starts_with('#')) return true;
  if (words[0] == "kernel") return parseKernel(words, image, why);
  if (words[0] == "all" && words.size() == 1) {
    for (const KernelEntry& entry : kernelCatalog()) {
      const Builtin* builtin = findBuiltin(entry.name);
      if (builtin == nullptr) {
        *why = "no body for built-in kernel \"" + std::string(entry.name) + "\"";
        return false;
      }
      image->kernels.push_back(makeBuiltin(*builtin, entry.name, std::nullopt));
    }
    return true;
  }
  std::uint64_t bytes = 0;
  if (words[0] == "global" && words.size() == 3 && parseNumber(words[2], &bytes) && bytes != 0) {
    image->globals.push_back({words[1], static_cast<std::size_t>(bytes), {}, {}});
    return true;
  }
  return false;
}

}  // namespace

CUresult parseBuiltinImage(std::string_view text, std::shared_ptr<const KernelImage>* out,
                           std::string* log) {
  auto image = std::make_shared<KernelImage>();
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> head = wordsOf(line);
  if (head.size() != 2 || head[1] != "1") {
    *log = "simgpu: line 1: only version 1 of the built-in image is known";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  for (int number = 2; std::getline(lines, line); ++number) {
    std::string why = "not understood";
    if (parseLine(wordsOf(line), image.get(), &why)) continue;
    *log = "simgpu: line " + std::to_string(number) + ": " + why;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *out = std::move(image);
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
