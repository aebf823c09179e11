// Works ROUNDS times through BYTES of device memory whose every value is known, then reads all of
// it back and compares. Says its process id when the memory is there, and in the end what it found.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"
#include "kernels.h"

enum { kBlockBytes = 8 << 20, kWords = kBlockBytes / 4, kThreads = 256, kMaxBlocks = 16384 };
static const unsigned long long kWaitNs = 10 * 1000 * 1000;  // of a simulated card, per block

struct Work {
  struct Driver cu;
  CUfunction axpy;
  CUfunction wait;  // NULL: a real card
  CUdeviceptr ones;
  CUdeviceptr blocks[kMaxBlocks];
  unsigned count;
};

static void loadKernels(struct Work* work) {
  CUmodule module = NULL;
  if (work->cu.moduleLoadData(
          &module, "simgpu-builtin 1\nkernel axpy = axpy\nkernel wait = spin\n") == kSuccess) {
    must(work->cu.moduleGetFunction(&work->axpy, module, "axpy"), "cuModuleGetFunction");
    must(work->cu.moduleGetFunction(&work->wait, module, "wait"), "cuModuleGetFunction");
    return;
  }
  must(work->cu.moduleLoadData(&module, kAxpyPtx), "cuModuleLoadData");
  must(work->cu.moduleGetFunction(&work->axpy, module, "axpy_f32"), "cuModuleGetFunction");
}

static void fill(const struct Work* work, CUdeviceptr block, float* host, float value) {
  for (unsigned i = 0; i < kWords; ++i) host[i] = value + (float)(i % 1000);
  must(work->cu.copyHtoD(block, host, kBlockBytes), "cuMemcpyHtoD");
}

// Every word of the block, plus one.
static void step(struct Work* work, CUdeviceptr block) {
  unsigned long long count = kWords, wait = kWaitNs;
  float one = 1;
  void* params[] = {&block, &work->ones, &count, &one};
  must(work->cu.launchKernel(work->axpy, kWords / kThreads, 1, 1, kThreads, 1, 1, 0, NULL, params,
                             NULL),
       "cuLaunchKernel");
  if (work->wait == NULL) return;
  void* waiting[] = {&wait};
  must(work->cu.launchKernel(work->wait, 1, 1, 1, 1, 1, 1, 0, NULL, waiting, NULL),
       "cuLaunchKernel");
}

static unsigned long long wrongIn(const struct Work* work, CUdeviceptr block, float* host,
                                  float value) {
  unsigned long long wrong = 0;
  must(work->cu.copyDtoH(host, block, kBlockBytes), "cuMemcpyDtoH");
  for (unsigned i = 0; i < kWords; ++i) wrong += host[i] != value + (float)(i % 1000);
  return wrong;
}

int main(int argc, char** argv) {
  static struct Work work;
  if (argc != 3) {
    fprintf(stderr, "usage: large BYTES ROUNDS\n");
    return 2;
  }
  const unsigned rounds = (unsigned)strtoul(argv[2], NULL, 10);
  work.cu = openDriver();
  loadKernels(&work);
  float* host = malloc(kBlockBytes);
  if (host == NULL) return 1;
  must(work.cu.memAlloc(&work.ones, kBlockBytes), "cuMemAlloc");
  for (unsigned i = 0; i < kWords; ++i) host[i] = 1;
  must(work.cu.copyHtoD(work.ones, host, kBlockBytes), "cuMemcpyHtoD");
  work.count = (unsigned)(strtoull(argv[1], NULL, 10) / kBlockBytes) - 1;
  if (work.count == 0 || work.count > kMaxBlocks) {
    fprintf(stderr, "large: from %d bytes to %d times as many\n", 2 * kBlockBytes, kMaxBlocks);
    return 2;
  }
  for (unsigned i = 0; i < work.count; ++i) {
    must(work.cu.memAlloc(&work.blocks[i], kBlockBytes), "cuMemAlloc");
    fill(&work, work.blocks[i], host, (float)i);
  }
  printf("{\"pid\": %d, \"bytes\": %llu}\n", (int)getpid(),
         (unsigned long long)(work.count + 1) * kBlockBytes);
  fflush(stdout);
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < work.count; ++i) step(&work, work.blocks[i]);
    must(work.cu.ctxSynchronize(), "cuCtxSynchronize");
  }
  unsigned long long wrong = 0;
  for (unsigned i = 0; i < work.count; ++i) {
    wrong += wrongIn(&work, work.blocks[i], host, (float)(i + rounds));
  }
  free(host);
  printf("{\"checked\": %llu, \"wrong\": %llu}\n", (unsigned long long)work.count * kWords, wrong);
  return 0;
}
