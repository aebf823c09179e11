// Kernels that are part of the simulated driver, written in C++.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "kernel_image.h"

namespace divvy::simgpu {

// What the pointers of a call reach, in bytes from each; unused ones have 0.
struct KernelSpan {
  CUdeviceptr begin = 0;
  std::uint64_t bytes = 0;
};
using KernelSpans = std::array<KernelSpan, 3>;

// The body of one entry of kernelCatalog(). Parameters are naturally aligned, in order.
struct Builtin {
  std::string_view name;
  Nanos (*cost)(const KernelCall&, const CostModel&);
  CUresult (*run)(const KernelCall&, Context&);  // nullptr: no effect
  Polled (*poll)(const KernelCall&, Context&);   // nullptr: it does not wait
  KernelSpans (*spans)(const KernelCall&);       // nullptr: a few bytes at most
};

const Builtin* findBuiltin(std::string_view name);

// The kernel under the name that the image gives it, with an explicit duration if it asks for one.
std::unique_ptr<KernelCode> makeBuiltin(const Builtin& builtin, std::string_view name,
                                        std::optional<Nanos> cost);

}  // namespace divvy::simgpu
