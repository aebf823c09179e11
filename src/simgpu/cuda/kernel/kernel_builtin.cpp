#include "cuda/kernel/kernel_builtin.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "cuda/memory/memory.h"
#include "simgpu/catalog.h"

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

Nanos spinCost(const KernelCall& c, const CostModel&) {
  return c.param<std::uint64_t>(0);
}

Polled spinUntilPoll(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  auto* flag = reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), 1, Access::kRead, &error);
  if (error != CUDA_SUCCESS) return Polled::kFault;
  const std::uint32_t seen = std::atomic_ref(*flag).load(std::memory_order_acquire);
  return seen == c.param<std::uint32_t>(8) ? Polled::kOver : Polled::kNotYet;
}

Nanos fillCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 4 * c.param<std::uint64_t>(8));
}
MemorySpans fillSpans(const KernelCall& c) {
  return {{{c.param<CUdeviceptr>(0), 4 * c.param<std::uint64_t>(8)}}};
}
CUresult fillRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(8);
  auto* out = reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), count, Access::kWrite, &error);
  if (error == CUDA_SUCCESS) std::fill_n(out, count, c.param<std::uint32_t>(16));
  return error;
}

CUresult addRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto count = c.param<std::uint64_t>(8);
  auto* data =
      reach<std::uint32_t>(context, c.param<CUdeviceptr>(0), count, Access::kReadWrite, &error);
  if (error != CUDA_SUCCESS) return error;
  const auto added = c.param<std::uint32_t>(16);  // read once, or no compiler vectorises the loop
  for (std::uint64_t i = 0; i < count; ++i) data[i] += added;
  return error;
}

Nanos copyCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 2 * c.param<std::uint64_t>(16));
}
MemorySpans copySpans(const KernelCall& c) {
  const auto bytes = c.param<std::uint64_t>(16);
  return {{{c.param<CUdeviceptr>(0), bytes}, {c.param<CUdeviceptr>(8), bytes}}};
}
CUresult copyRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  const auto bytes = c.param<std::uint64_t>(16);
  auto* to = reach<std::byte>(context, c.param<CUdeviceptr>(0), bytes, Access::kWrite, &error);
  auto* from = reach<std::byte>(context, c.param<CUdeviceptr>(8), bytes, Access::kRead, &error);
  if (error == CUDA_SUCCESS && bytes != 0) std::memmove(to, from, bytes);
  return error;
}

Nanos checksumCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, c.param<std::uint64_t>(16));
}
// For kernels that read their second parameter and write a result of negligible size.
MemorySpans dataSpans(const KernelCall& c) {
  return {{{c.param<CUdeviceptr>(8), c.param<std::uint64_t>(16)}}};
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

Nanos axpyCost(const KernelCall& c, const CostModel& costs) {
  const auto count = c.param<std::uint64_t>(16);
  return costs.kernel(2.0 * static_cast<double>(count), 12 * count);
}
MemorySpans axpySpans(const KernelCall& c) {
  const std::uint64_t bytes = 4 * c.param<std::uint64_t>(16);
  return {{{c.param<CUdeviceptr>(0), bytes}, {c.param<CUdeviceptr>(8), bytes}}};
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

Nanos matmulCost(const KernelCall& c, const CostModel& costs) {
  const double m = c.param<std::uint32_t>(24);
  const double n = c.param<std::uint32_t>(28);
  const double k = c.param<std::uint32_t>(32);
  return costs.kernel(2 * m * n * k, static_cast<std::uint64_t>(4 * (m * n + m * k + k * n)));
}
MemorySpans matmulSpans(const KernelCall& c) {
  const std::uint64_t m = c.param<std::uint32_t>(24);
  const std::uint64_t n = c.param<std::uint32_t>(28);
  const std::uint64_t k = c.param<std::uint32_t>(32);
  return {{{c.param<CUdeviceptr>(0), 4 * m * n},
           {c.param<CUdeviceptr>(8), 4 * m * k},
           {c.param<CUdeviceptr>(16), 4 * k * n}}};
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

Nanos sumCost(const KernelCall& c, const CostModel& costs) {
  return costs.kernel(0, 4 * c.param<std::uint64_t>(16));
}
MemorySpans sumSpans(const KernelCall& c) {
  return {{{c.param<CUdeviceptr>(8), 4 * c.param<std::uint64_t>(16)}}};
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

Nanos touchCost(const KernelCall& c, const CostModel& costs) {
  const auto ns = c.param<std::uint64_t>(16);
  return ns != 0 ? ns : costs.kernel(0, c.param<std::uint64_t>(8));
}
MemorySpans touchSpans(const KernelCall& c) {
  return {{{c.param<CUdeviceptr>(0), c.param<std::uint64_t>(8)}}};
}
CUresult touchRun(const KernelCall& c, Context& context) {
  CUresult error = CUDA_SUCCESS;
  reach<std::byte>(context, c.param<CUdeviceptr>(0), c.param<std::uint64_t>(8), Access::kRead,
                   &error);
  return error;
}

CUresult trapRun(const KernelCall&, Context&) {
  return CUDA_ERROR_LAUNCH_FAILED;
}

constexpr Builtin kBuiltins[] = {
    {"spin", spinCost, nullptr, nullptr, nullptr, 0},
    {"spin_until", noTime, nullptr, spinUntilPoll, nullptr, 4},
    {"fill", fillCost, fillRun, nullptr, fillSpans, 0},
    {"add", fillCost, addRun, nullptr, fillSpans, 0},
    {"copy", copyCost, copyRun, nullptr, copySpans, 0},
    {"checksum", checksumCost, checksumRun, nullptr, dataSpans, 8},
    {"axpy", axpyCost, axpyRun, nullptr, axpySpans, 0},
    {"matmul", matmulCost, matmulRun, nullptr, matmulSpans, 0},
    {"atomic_add", atomicAddCost, atomicAddRun, nullptr, nullptr, 4},
    {"histogram", checksumCost, histogramRun, nullptr, dataSpans, 1024},
    {"sum", sumCost, sumRun, nullptr, sumSpans, 8},
    {"touch", touchCost, touchRun, nullptr, touchSpans, 0},
    {"trap", noTime, trapRun, nullptr, nullptr, 0},
};

std::uint32_t sizeOf(std::string_view param) {
  if (param.find('*') != std::string_view::npos) return 8;
  for (const std::string_view wide : {"u64", "double"}) {
    if (param.find(wide) != std::string_view::npos) return 8;
  }
  return 4;
}

// From the catalogue's "float* y, u64 count".
std::vector<KernelParam> paramsOf(std::string_view text) {
  std::vector<KernelParam> params;
  std::uint32_t offset = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::uint32_t size = sizeOf(text.substr(0, comma));
    offset = (offset + size - 1) / size * size;
    params.push_back({offset, size});
    offset += size;
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return params;
}

class BuiltinKernel final : public KernelCode {
 public:
  BuiltinKernel(const Builtin& builtin, std::string_view as, std::optional<Nanos> cost)
      : builtin_(builtin), cost_(cost) {
    name = as;
    for (const KernelEntry& entry : kernelCatalog()) {
      if (entry.name == builtin.name) params = paramsOf(entry.params);
    }
  }

  // Host memory arrives over the link, and a kernel waits for that whatever it computes.
  Nanos cost(const KernelCall& call, const CostModel& costs) const override {
    const Nanos computing = cost_ ? *cost_ : builtin_.cost(call, costs);
    if (builtin_.spans == nullptr) return computing;
    std::uint64_t far = 0;
    for (const MemorySpan& span : builtin_.spans(call)) far += bytesOnHost(span.begin, span.bytes);
    return std::max(computing, costs.hostAccess(far));
  }
  CUresult run(const KernelCall& call, Context& context) const override {
    return builtin_.run == nullptr ? CUDA_SUCCESS : builtin_.run(call, context);
  }
  bool effective() const override { return builtin_.run != nullptr; }
  MemoryUse uses(const KernelCall& call) const override {
    MemoryUse use;
    if (builtin_.spans != nullptr) use.spans = builtin_.spans(call);
    if (builtin_.few != 0) use.spans.back() = {call.param<CUdeviceptr>(0), builtin_.few};
    use.known = builtin_.spans != nullptr || builtin_.few != 0;
    return use;
  }
  bool waits() const override { return builtin_.poll != nullptr; }
  Polled poll(const KernelCall& call, Context& context) const override {
    return builtin_.poll(call, context);
  }

 private:
  const Builtin& builtin_;
  const std::optional<Nanos> cost_;
};

}  // namespace

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
