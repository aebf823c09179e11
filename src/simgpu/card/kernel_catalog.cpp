// The one list of built-in kernels; kernel_builtin.cpp has their bodies.
#include "simgpu/catalog.h"

namespace divvy::simgpu {
namespace {

constexpr KernelEntry kKernels[] = {
    {"spin", "u64 ns", "computes for ns nanoseconds of the card's time, touches nothing"},
    {"spin_until", "u32* flag, u32 value", "runs until *flag == value, whoever writes it"},
    {"fill", "u32* out, u64 count, u32 value", "out[i] = value"},
    {"add", "u32* data, u64 count, u32 value", "data[i] += value"},
    {"copy", "void* to, const void* from, u64 bytes", "memmove"},
    {"checksum", "u64* out, const void* data, u64 bytes", "*out = FNV-1a of the bytes, 64 bits"},
    {"axpy", "float* y, const float* x, u64 count, float a", "y[i] += a * x[i]"},
    {"matmul", "float* c, const float* a, const float* b, u32 m, u32 n, u32 k",
     "c = a b, row by row; a is m x k, b is k x n"},
    {"atomic_add", "u32* counter, u32 value", "every thread of the launch adds value once"},
    {"histogram", "u32* bins, const u8* data, u64 bytes", "++bins[data[i]], 256 bins"},
    {"sum", "double* out, const float* data, u64 count", "*out = sum of data[i]"},
    {"touch", "const void* data, u64 bytes, u64 ns",
     "faults unless the range is mapped; takes ns, or what reading it costs when ns is 0"},
    {"trap", "", "the context is lost with CUDA_ERROR_LAUNCH_FAILED"},
};

}  // namespace

std::span<const KernelEntry> kernelCatalog() {
  return kKernels;
}

}  // namespace divvy::simgpu
