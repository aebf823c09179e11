#include "field.h"

namespace divvy::bench {
namespace {

constexpr const char* kBuiltin = "simgpu-builtin 1\nkernel add = add\n";

// add(data, count, value): data[i] += value, by the threads of one block.
constexpr const char* kPtx = R"(.version 6.4
.target sm_52
.address_size 64
.visible .entry add(.param .u64 data, .param .u64 count, .param .u32 value)
{
  .reg .pred %done;
  .reg .b32 %value, %word, %thread, %threads;
  .reg .b64 %at, %count, %i, %step;
  ld.param.u64 %at, [data];
  ld.param.u64 %count, [count];
  ld.param.u32 %value, [value];
  cvta.to.global.u64 %at, %at;
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  cvt.u64.u32 %i, %thread;
  cvt.u64.u32 %step, %threads;
  mad.lo.u64 %at, %i, 4, %at;
again:
  setp.ge.u64 %done, %i, %count;
  @%done bra end;
  ld.global.u32 %word, [%at];
  add.u32 %word, %word, %value;
  st.global.u32 [%at], %word;
  add.u64 %i, %i, %step;
  mad.lo.u64 %at, %step, 4, %at;
  bra again;
end:
  ret;
}
)";

constexpr unsigned kThreads = 256;
constexpr std::uint32_t kStride = 0x9e3779b9;  // makes neighbours' values differ in every byte

}  // namespace

Field::Field(std::uint64_t bytes, std::uint64_t block_bytes, std::uint32_t seed)
    : block_bytes_(block_bytes), blocks_(bytes / block_bytes) {
  CUmodule module = nullptr;
  if (cuModuleLoadData(&module, kBuiltin) != 0) {
    must(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  }
  must(cuModuleGetFunction(&add_, module, "add"), "cuModuleGetFunction");
  std::uint32_t value = seed * kStride;
  for (Block& block : blocks_) {
    must(cuMemAlloc_v2(&block.at, block_bytes), "cuMemAlloc");
    block.value = value += kStride;
    block.adds.assign(block_bytes / kSlice, 0);
    must(cuMemsetD32_v2(block.at, block.value, block_bytes / sizeof(std::uint32_t)), "cuMemsetD32");
  }
}

void Field::change(CUstream stream) {
  Block& block = blocks_[changes_ % blocks_.size()];
  const std::uint64_t slice = changes_ / blocks_.size() % block.adds.size();
  CUdeviceptr at = block.at + slice * kSlice;
  std::uint64_t count = kSlice / sizeof(std::uint32_t);
  std::uint32_t one = 1;
  void* params[] = {&at, &count, &one};
  must(cuLaunchKernel(add_, 1, 1, 1, kThreads, 1, 1, 0, stream, params, nullptr), "cuLaunchKernel");
  ++block.adds[slice];
  ++changes_;
}

void Field::changeAll(CUstream stream) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) change(stream);
}

std::uint64_t Field::mismatched() const {
  std::uint64_t wrong = 0;
  std::vector<std::uint32_t> words(block_bytes_ / sizeof(std::uint32_t));
  for (const Block& block : blocks_) {
    must(cuMemcpyDtoH_v2(words.data(), block.at, block_bytes_), "cuMemcpyDtoH");
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t slice_adds = block.adds[i * sizeof(std::uint32_t) / kSlice];
      if (words[i] != block.value + slice_adds) wrong += sizeof(std::uint32_t);
    }
  }
  return wrong;
}

}  // namespace divvy::bench
