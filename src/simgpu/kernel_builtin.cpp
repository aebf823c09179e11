#include "kernel_builtin.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "memory.h"

namespace divvy::simgpu {
namespace {

// `count` elements of device memory as an array, or nullptr after setting `error`.
template <typename T>
T* reach(Context& context, CUdeviceptr address, std::uint64_t count, Access access,
         CUresult* error) {
  std::byte* host = nullptr;
  if (count > SIZE_MAX / sizeof(T)) *error = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (*error == CUDA_SUCCESS && count != 0) {
    *error =
        translate(context, address, static_cast<std::size_t>(count * sizeof(T)), access, &host);
  }
  if (*error == CUDA_SUCCESS && address % alignof(T) != 0) *error = CUDA_ERROR_MISALIGNED_ADDRESS;
  return *error == CUDA_SUCCESS ? reinterpret_cast<T*>(host) : nullptr;
}

Nanos noTime(const KernelCall&, const CostModel& costs) {
  return costs.kernel(0, 0);
}

// spin(u64 ns)
Nanos spinCost(const KernelCall& c, const CostModel&) {
  return c.param<std::uint64_t>(0);
}

// spin_until(u32* flag, u32 value): runs until *flag == value
Polled spinUntilPoll(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  auto* flag = reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), 1, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return Polled::kFault;
  const std::uint32_t seen = std::atomic_ref(*flag).load(std::memory_order_acquire);
  return seen == c.param<std::uint32_t>(8) ? Polled::kOver : Polled::kNotYet;
}

// fill(u32* out, u64 count, u32 value)
Nanos fillCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 4 * c.param<std::uint64_t>(8));
}
CUresult fillRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(8);
  auto* out = reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), count, Access::kWrite, &error);
  if (error == CUDA_SUCCESS) std::fill_n(out, count, c.param<std::uint32_t>(16));
  return error;
}

// add(u32* data, u64 count, u32 value): data[i] += value
CUresult addRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(8);
  auto* data =
      reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), count, Access::kReadWrite, &error);
  if (error != CUDA_SUCCESS) return error;
  for (std::uint64_t i = 0; i < count; ++i) data[i] += c.param<std::uint32_t>(16);
  return error;
}

// copy(void* to, const void* from, u64 bytes)
Nanos copyCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 2 * c.param<std::uint64_t>(16));
}
CUresult copyRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto bytes = c.param<std::uint64_t>(16);
  auto* to = reach<std::byte>(context, c.param<CUdeviceptr>(0), bytes, Access::kWrite, &error);
  auto* from = reach<std::byte>(context, c.param<CUdeviceptr>(8), bytes, Access::kRead, &error);
  if (error == CUDA_SUCCESS && bytes != 0) std::memmove(to, from, bytes);
  return error;
}

// checksum(u64* out, const void* data, u64 bytes): FNV-1a, 64 bits
Nanos checksumCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, c.param<std::uint64_t>(16));
}
CUresult checksumRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto bytes = c.param<std::uint64_t>(16);
  auto* out = reach<std::uint64_t>(context, c.param<CUdeviceptr>(0), 1, Access::kWrite, &error);
  auto* data = reach<unsigned char>(context, c.param<CUdeviceptr>(8), bytes, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return error;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001b3;
  *out = hash;
  return CUDA_SUCCESS;
}

// axpy(float* y, const float* x, u64 count, float a): y[i] += a * x[i]
Nanos axpyCost(const KernelCall& c, const CostModel& costs) {
  const auto count = c.param<std::uint64_t>(16);
  return costs.kernel(2.0 * static_cast<double>(count), 12 * count);
}
CUresult axpyRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(16);
  const auto a = c.param<float>(24);
  auto* y = reach<float>(context, c.param<CUdeviceptr>(0), count, Access::kReadWrite, &error);
  auto* x = reach<float>(context, c.param<CUdeviceptr>(8), count, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return error;
  for (std::uint64_t i = 0; i < count; ++i) y[i] += a * x[i];
  return CUDA_SUCCESS;
}

// matmul(float* c, const float* a, const float* b, u32 m, u32 n, u32 k): c = a b, row by row
Nanos matmulCost(const KernelCall& c, const CostModel& costs) {
  const double m = c.param<std::uint32_t>(24);
  const double n = c.param<std::uint32_t>(28);
  const double k = c.param<std::uint32_t>(32);
  return costs.kernel(2 * m * n * k, static_cast<std::uint64_t>(4 * (m * n + m * k + k * n)));
}
CUresult matmulRun(const KernelCall& call, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const std::uint64_t m = call.param<std::uint32_t>(24);
  const std::uint64_t n = call.param<std::uint32_t>(28);
  const std::uint64_t k = call.param<std::uint32_t>(32);
  auto* c = reach<float>(context, call.param<CUdeviceptr>(0), m * n, Access::kWrite, &error);
  auto* a = reach<float>(context, call.param<CUdeviceptr>(8), m * k, Access::kRead, &error);
  auto* b = reach<float>(context, call.param<CUdeviceptr>(16), k * n, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return error;
  std::vector<float> row(n);
  for (std::uint64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0F);
    for (std::uint64_t l = 0; l < k; ++l) {
      const float factor = a[i * k + l];
      for (std::uint64_t j = 0; j < n; ++j) row[j] += factor * b[l * n + j];
    }
    std::copy(row.begin(), row.end(), c + i * n);
  }
  return CUDA_SUCCESS;
}

// atomic_add(u32* counter, u32 value): every thread of the launch adds value once
Nanos atomicAddCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 4 * c.shape.threads());
}
CUresult atomicAddRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  auto* counter =
      reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), 1, Access::kReadWrite, &error);
  if (error != CUDA_SUCCESS) return error;
  const auto sum = static_cast<std::uint32_t>(c.shape.threads() * c.param<std::uint32_t>(8));
  std::atomic_ref(*counter).fetch_add(sum);
  return CUDA_SUCCESS;
}

// histogram(u32* bins, const u8* data, u64 bytes): 256 bins, added to
CUresult histogramRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto bytes = c.param<std::uint64_t>(16);
  auto* bins =
      reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), 256, Access::kReadWrite, &error);
  auto* data = reach<unsigned char>(context, c.param<CUdeviceptr>(8), bytes, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return error;
  for (std::uint64_t i = 0; i < bytes; ++i) ++bins[data[i]];
  return CUDA_SUCCESS;
}

// sum(double* out, const float* data, u64 count)
Nanos sumCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 4 * c.param<std::uint64_t>(16));
}
CUresult sumRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(16);
  auto* out = reach<double>(context, c.param<CUdeviceptr>(0), 1, Access::kWrite, &error);
  auto* data = reach<float>(context, c.param<CUdeviceptr>(8), count, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return error;
  double total = 0;
  for (std::uint64_t i = 0; i < count; ++i) total += data[i];
  *out = total;
  return CUDA_SUCCESS;
}

// touch(const void* data, u64 bytes, u64 ns): reads the range, takes ns (0: what reading it costs)
Nanos touchCost(const KernelCall& c, const CostModel& costs) {
  const auto ns = c.param<std::uint64_t>(16);
  return ns != 0 ? ns : costs.kernel(0, c.param<std::uint64_t>(8));
}
CUresult touchRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  reach<std::byte>(context, c.param<CUdeviceptr>(0), c.param<std::uint64_t>(8), Access::kRead,
                   &error);
  return error;
}

// trap(): the context is lost with CUDA_ERROR_LAUNCH_FAILED
CUresult trapRun(const KernelCall&, Context&) {
  return CUDA_ERROR_LAUNCH_FAILED;
}

constexpr Builtin kBuiltins[] = {
    {"spin", "u64 ns", {8}, spinCost, nullptr, nullptr},
    {"spin_until", "u32* flag, u32 value", {8, 4}, noTime, nullptr, spinUntilPoll},
    {"fill", "u32* out, u64 count, u32 value", {8, 8, 4}, fillCost, fillRun, nullptr},
    {"add", "u32* data, u64 count, u32 value", {8, 8, 4}, fillCost, addRun, nullptr},
    {"copy", "void* to, const void* from, u64 bytes", {8, 8, 8}, copyCost, copyRun, nullptr},
    {"checksum",
     "u64* out, const void* data, u64 bytes",
     {8, 8, 8},
     checksumCost,
     checksumRun,
     nullptr},
    {"axpy",
     "float* y, const float* x, u64 count, float a",
     {8, 8, 8, 4},
     axpyCost,
     axpyRun,
     nullptr},
    {"matmul",
     "float* c, const float* a, const float* b, u32 m, u32 n, u32 k",
     {8, 8, 8, 4, 4, 4},
     matmulCost,
     matmulRun,
     nullptr},
    {"atomic_add", "u32* counter, u32 value", {8, 4}, atomicAddCost, atomicAddRun, nullptr},
    {"histogram",
     "u32* bins, const u8* data, u64 bytes",
     {8, 8, 8},
     checksumCost,
     histogramRun,
     nullptr},
    {"sum", "double* out, const float* data, u64 count", {8, 8, 8}, sumCost, sumRun, nullptr},
    {"touch", "const void* data, u64 bytes, u64 ns", {8, 8, 8}, touchCost, touchRun, nullptr},
    {"trap", "", {}, noTime, trapRun, nullptr},
};

class BuiltinKernel final : public KernelCode {
 public:
  BuiltinKernel(const Builtin& builtin, std::string_view as, std::optional<Nanos> cost)
      : builtin_(builtin), cost_(cost) {
    name = as;
    std::uint32_t offset = 0;
    for (const std::uint8_t size : builtin.sizes) {
      if (size == 0) break;
      offset = (offset + size - 1U) / size * size;
      params.push_back({offset, size});
      offset += size;
    }
  }

  Nanos cost(const KernelCall& call, const CostModel& costs) const override {
    return cost_ ? *cost_ : builtin_.cost(call, costs);
  }
  CUresult run(const KernelCall& call, Context& context) const override {
    return builtin_.run == nullptr ? CUDA_SUCCESS : builtin_.run(call, context);
  }
  bool effective() const override { return builtin_.run != nullptr; }
  bool waits() const override { return builtin_.poll != nullptr; }
  Polled poll(const KernelCall& call, Context& context) const override {
    return builtin_.poll(call, context);
  }

 private:
  const Builtin& builtin_;
  const std::optional<Nanos> cost_;
};

}  // namespace

std::span<const Builtin> builtins() {
  return kBuiltins;
}

const Builtin* findBuiltin(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) return &builtin;
  }
  return nullptr;
}

std::unique_ptr<KernelCode> makeBuiltin(const Builtin& builtin, std::string_view name,
                                        std::optional<Nanos> cost) {
  return std::make_unique<BuiltinKernel>(builtin, name, cost);
}

}  // namespace divvy::simgpu
