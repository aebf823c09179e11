#include "swapped.h"

#include <poll.h>
#include <unistd.h>

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

// A byte of input; 0: none yet, -1: it has ended.
int nextInput() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  if (poll(&input, 1, 0) != 1) return 0;
  return read(STDIN_FILENO, &byte, 1) == 1 ? 1 : -1;
}

void readHot(CUdeviceptr block, std::uint64_t hot) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  must(cuModuleLoadData(&module, "simgpu-builtin 1\nkernel touch\n"), "cuModuleLoadData");
  must(cuModuleGetFunction(&kernel, module, "touch"), "cuModuleGetFunction");
  CUdeviceptr begin = block;
  for (int input = nextInput(); input >= 0; input = nextInput()) {
    if (input == 1) begin = block + hot;
    for (std::uint64_t at = 0; at < hot; at += kPiece) {
      CUdeviceptr piece = begin + at;
      std::uint64_t some = std::min(kPiece, hot - at), ns = 0;
      void* params[] = {&piece, &some, &ns};
      must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), "cuLaunchKernel");
    }
    must(cuCtxSynchronize(), "cuCtxSynchronize");
  }
}

}  // namespace

int beSwapped(std::uint64_t bytes, std::uint64_t seed, std::uint64_t hot) {
  openDevice();
  CUdeviceptr block = 0;
  must(cuMemAlloc_v2(&block, bytes), "cuMemAlloc");
  forPieces(bytes, seed, [&](std::uint64_t at, std::uint64_t some, const auto& words) {
    must(cuMemcpyHtoD_v2(block + at, words.data(), some), "cuMemcpyHtoD");
  });
  std::puts("ready 1");
  std::fflush(stdout);
  if (hot != 0) readHot(block, hot);
  while (hot == 0 && std::getchar() != EOF) {
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
