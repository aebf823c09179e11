// Computes on the card until two seconds are over and verifies every result on the host.
//   matmul   products of matrices of small integers, which single precision holds exactly
//   sums     y += a x over vectors of whole numbers, many times
//   shuffle  blocks copied around the card, compared at the end
// Prints the card's total and free memory first, then what was checked and what was wrong.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "kernels.h"

enum { kMatrix = 192, kWords = 1 << 18, kBlocks = 16, kTile = 16, kBlock = 256 };
static const double kSeconds = 2;

struct Tally {
  unsigned long long checked, wrong, rounds;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static CUdeviceptr take(const struct Driver* cu, size_t bytes) {
  CUdeviceptr pointer = 0;
  must(cu->memAlloc(&pointer, bytes), "cuMemAlloc");
  return pointer;
}

static CUfunction kernel(const struct Driver* cu, const char* ptx, const char* name) {
  CUmodule module = NULL;
  CUfunction function = NULL;
  must(cu->moduleLoadData(&module, ptx), "cuModuleLoadData");
  must(cu->moduleGetFunction(&function, module, name), name);
  return function;
}

static void multiply(const struct Driver* cu, struct Tally* tally) {
  const size_t bytes = sizeof(float) * kMatrix * kMatrix;
  const CUfunction matmul = kernel(cu, kMatmulPtx, "matmul_f32");
  CUdeviceptr a = take(cu, bytes), b = take(cu, bytes), c = take(cu, bytes);
  float* host = malloc(3 * bytes);
  float *left = host, *right = host + kMatrix * kMatrix, *product = right + kMatrix * kMatrix;
  const double end = now() + kSeconds;
  for (; tally->rounds == 0 || now() < end; ++tally->rounds) {
    for (unsigned i = 0; i < kMatrix * kMatrix; ++i) {
      left[i] = (float)((i * 7 + tally->rounds) % 13);
      right[i] = (float)((i * 11 + tally->rounds) % 17) - 8;
    }
    must(cu->copyHtoD(a, left, bytes), "cuMemcpyHtoD");
    must(cu->copyHtoD(b, right, bytes), "cuMemcpyHtoD");
    unsigned n = kMatrix;
    void* params[] = {&c, &a, &b, &n, &n, &n};
    const unsigned tiles = (kMatrix + kTile - 1) / kTile;
    must(cu->launchKernel(matmul, tiles, tiles, 1, kTile, kTile, 1, 0, NULL, params, NULL),
         "cuLaunchKernel");
    must(cu->copyDtoH(product, c, bytes), "cuMemcpyDtoH");
    for (unsigned row = 0; row < kMatrix; ++row) {
      for (unsigned column = 0; column < kMatrix; ++column) {
        float sum = 0;
        for (unsigned k = 0; k < kMatrix; ++k)
          sum += left[row * kMatrix + k] * right[k * kMatrix + column];
        tally->wrong += product[row * kMatrix + column] != sum;
      }
    }
    tally->checked += kMatrix * kMatrix;
  }
  free(host);
}

static void addUp(const struct Driver* cu, struct Tally* tally) {
  const size_t bytes = sizeof(float) * kWords;
  const CUfunction axpy = kernel(cu, kAxpyPtx, "axpy_f32");
  CUdeviceptr y = take(cu, bytes), x = take(cu, bytes);
  float* host = malloc(2 * bytes);
  float* expected = host + kWords;
  for (unsigned i = 0; i < kWords; ++i) host[i] = (float)(i % 257);
  memset(expected, 0, bytes);
  must(cu->copyHtoD(x, host, bytes), "cuMemcpyHtoD");
  must(cu->copyHtoD(y, expected, bytes), "cuMemcpyHtoD");
  const double end = now() + kSeconds;
  for (; tally->rounds == 0 || now() < end; ++tally->rounds) {
    // Up, then down again: the sums stay small enough to be exact.
    float a = tally->rounds % 16 < 8 ? 3 : -3;
    unsigned long long count = kWords;
    void* params[] = {&y, &x, &count, &a};
    for (unsigned i = 0; i < kWords; ++i) expected[i] += a * (float)(i % 257);
    must(cu->launchKernel(axpy, kWords / kBlock, 1, 1, kBlock, 1, 1, 0, NULL, params, NULL),
         "cuLaunchKernel");
    must(cu->copyDtoH(host, y, bytes), "cuMemcpyDtoH");
    for (unsigned i = 0; i < kWords; ++i) tally->wrong += host[i] != expected[i];
    tally->checked += kWords;
  }
  free(host);
}

static void shuffle(const struct Driver* cu, struct Tally* tally) {
  const size_t bytes = sizeof(unsigned) * kWords;
  CUdeviceptr blocks[kBlocks + 1];
  unsigned* host = malloc(bytes);
  unsigned order[kBlocks];
  for (unsigned i = 0; i <= kBlocks; ++i) blocks[i] = take(cu, bytes);
  for (unsigned i = 0; i < kBlocks; ++i) {
    for (unsigned j = 0; j < kWords; ++j) host[j] = i << 24 | j;
    must(cu->copyHtoD(blocks[i], host, bytes), "cuMemcpyHtoD");
    order[i] = i;
  }
  unsigned random = 1;
  const double end = now() + kSeconds;
  for (; tally->rounds == 0 || now() < end; ++tally->rounds) {
    random = random * 1664525u + 1013904223u;
    const unsigned one = random >> 8 & (kBlocks - 1), two = random >> 16 & (kBlocks - 1);
    must(cu->copyDtoD(blocks[kBlocks], blocks[one], bytes), "cuMemcpyDtoD");
    must(cu->copyDtoD(blocks[one], blocks[two], bytes), "cuMemcpyDtoD");
    must(cu->copyDtoD(blocks[two], blocks[kBlocks], bytes), "cuMemcpyDtoD");
    const unsigned moved = order[one];
    order[one] = order[two];
    order[two] = moved;
  }
  for (unsigned i = 0; i < kBlocks; ++i) {
    must(cu->copyDtoH(host, blocks[i], bytes), "cuMemcpyDtoH");
    for (unsigned j = 0; j < kWords; ++j) tally->wrong += host[j] != (order[i] << 24 | j);
    tally->checked += kWords;
  }
  free(host);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const struct Driver*, struct Tally*);
  } kWorks[] = {{"matmul", multiply}, {"sums", addUp}, {"shuffle", shuffle}};
  for (size_t i = 0; argc == 2 && i < sizeof kWorks / sizeof *kWorks; ++i) {
    if (strcmp(argv[1], kWorks[i].name) != 0) continue;
    struct Tally tally = {0, 0, 0};
    size_t free_bytes = 0, total = 0;
    const struct Driver cu = openDriver();
    must(cu.memGetInfo(&free_bytes, &total), "cuMemGetInfo");
    printf("{\"total\": %zu, \"free\": %zu}\n", total, free_bytes);
    fflush(stdout);
    kWorks[i].run(&cu, &tally);
    printf("{\"checked\": %llu, \"wrong\": %llu, \"rounds\": %llu}\n", tally.checked, tally.wrong,
           tally.rounds);
    return tally.wrong ? 1 : 0;
  }
  fprintf(stderr, "usage: compute matmul|sums|shuffle\n");
  return 2;
}
