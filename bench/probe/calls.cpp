#include "calls.h"

#include <array>

#include "driver.h"

namespace divvy::bench {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kSmallBytes = 512;
constexpr std::size_t kLargeBytes = 64 << 20;
constexpr int kLiveBlocks = 10'000;
constexpr int kLookupVersion = 12'000;

// A kernel that does nothing: PTX text for drivers that compile it, else the simulated card's
// native one. Both take one 64-bit word.
constexpr const char* kEmptyPtx =
    ".version 6.4\n.target sm_52\n.address_size 64\n"
    ".visible .entry empty(.param .u64 nothing)\n{\n  ret;\n}\n";
constexpr const char* kEmptyBuiltin = "simgpu-builtin 1\nkernel empty = spin\n";

CUfunction emptyKernel() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (cuModuleLoadData(&module, kEmptyPtx) != 0) {
    must(cuModuleLoadData(&module, kEmptyBuiltin), "cuModuleLoadData");
  }
  must(cuModuleGetFunction(&function, module, "empty"), "cuModuleGetFunction");
  return function;
}

void report(benchmark::State& state, CUresult failed) {
  if (failed != 0) state.SkipWithError("a driver call failed");
}

// Its argument is a number, or the address of a block of the program's.
Batch launchWith(std::uint64_t argument) {
  return [kernel = emptyKernel(), argument](benchmark::State& state) {
    CUresult failed = 0;
    std::uint64_t given = argument;
    void* params[] = {&given};
    for (auto _ : state) {
      failed |= cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
    }
    report(state, failed | cuCtxSynchronize());
  };
}

Batch launch() {
  return launchWith(0);
}

Batch launchOnBlock() {
  CUdeviceptr block = 0;
  must(cuMemAlloc_v2(&block, kLargeBytes), "cuMemAlloc");
  return launchWith(block);
}

Batch allocFree() {
  return [](benchmark::State& state) {
    CUresult failed = 0;
    for (auto _ : state) {
      CUdeviceptr block = 0;
      failed |= cuMemAlloc_v2(&block, kBlockBytes);
      failed |= cuMemFree_v2(block);
    }
    report(state, failed);
  };
}

Batch allocFreeBesideLiveBlocks() {
  for (int i = 0; i < kLiveBlocks; ++i) {
    CUdeviceptr block = 0;
    must(cuMemAlloc_v2(&block, kSmallBytes), "cuMemAlloc of a live block");
  }
  return allocFree();
}

Batch memInfo() {
  return [](benchmark::State& state) {
    CUresult failed = 0;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    for (auto _ : state) failed |= cuMemGetInfo_v2(&free_bytes, &total_bytes);
    report(state, failed);
  };
}

Batch untouched() {
  return [](benchmark::State& state) {
    CUresult failed = 0;
    for (auto _ : state) failed |= cuStreamQuery(nullptr);
    report(state, failed);
  };
}

Batch untouchedByLookup() {
  using StreamQuery = CUresult(CUstream);
  void* found = nullptr;
  int status = 0;
  must(cuGetProcAddress_v2("cuStreamQuery", &found, kLookupVersion, 0, &status),
       "cuGetProcAddress");
  auto* function = reinterpret_cast<StreamQuery*>(found);
  return [function](benchmark::State& state) {
    CUresult failed = 0;
    for (auto _ : state) failed |= function(nullptr);
    report(state, failed);
  };
}

constexpr std::array<Call, 7> kCalls{{
    {"launch", launch},
    {"launch_on_block", launchOnBlock},
    {"alloc_free", allocFree},
    {"alloc_free_10k_live", allocFreeBesideLiveBlocks},
    {"mem_info", memInfo},
    {"untouched", untouched},
    {"untouched_lookup", untouchedByLookup},
}};

}  // namespace

const Call* findCall(std::string_view name) {
  for (const Call& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

}  // namespace divvy::bench
