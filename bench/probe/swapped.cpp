#include "swapped.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "driver.h"

namespace divvy::bench {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// No two words of a program, and none of two programs, are the same.
void fill(std::vector<std::uint64_t>& words, std::uint64_t at, std::uint64_t seed) {
  for (std::uint64_t& word : words) {
    word = (at + (seed << 40)) * 0x9E3779B97F4A7C15u;
    at += kWord;
  }
}

// Calls body(offset, bytes, what has to stand there) for all of the memory.
template <typename Body>
void forPieces(std::uint64_t bytes, std::uint64_t seed, Body body) {
  std::vector<std::uint64_t> words(kPiece / kWord);
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    fill(words, at, seed);
    body(at, std::min(kPiece, bytes - at), words);
  }
}

}  // namespace

int beSwapped(std::uint64_t bytes, std::uint64_t seed) {
  openDevice();
  CUdeviceptr block = 0;
  must(cuMemAlloc_v2(&block, bytes), "cuMemAlloc");
  forPieces(bytes, seed, [&](std::uint64_t at, std::uint64_t some, const auto& words) {
    must(cuMemcpyHtoD_v2(block + at, words.data(), some), "cuMemcpyHtoD");
  });
  std::puts("ready 1");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  std::uint64_t wrong = 0;
  std::vector<unsigned char> found(kPiece);
  forPieces(bytes, seed, [&](std::uint64_t at, std::uint64_t some, const auto& words) {
    must(cuMemcpyDtoH_v2(found.data(), block + at, some), "cuMemcpyDtoH");
    const auto* right = reinterpret_cast<const unsigned char*>(words.data());
    for (std::uint64_t i = 0; i < some; ++i) wrong += found[i] != right[i] ? 1 : 0;
  });
  std::printf("mismatched %llu\n", static_cast<unsigned long long>(wrong));
  return 0;
}

}  // namespace divvy::bench
