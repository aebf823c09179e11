// Kernels that are part of the simulated driver, written in C++.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "cuda/kernel/kernel_image.h"

namespace divvy::simgpu {

// The body of one entry of kernelCatalog(). Parameters are naturally aligned, in order.
struct Builtin {
  std::string_view name;
  Nanos (*cost)(const KernelCall&, const CostModel&);
  CUresult (*run)(const KernelCall&, Context&);  // nullptr: no effect
  Polled (*poll)(const KernelCall&, Context&);   // nullptr: it does not wait
  MemorySpans (*spans)(const KernelCall&);       // nullptr: `few` at most
  // Bytes that the first parameter points to, if it is not among the spans; 0: it does not point to
  // memory. Without spans and without `few`, the kernel simulates one with unknown accesses.
  unsigned few;
};

const Builtin* findBuiltin(std::string_view name);

// The kernel under the name that the image gives it, with an explicit duration if it asks for one.
std::unique_ptr<KernelCode> makeBuiltin(const Builtin& builtin, std::string_view name,
                                        std::optional<Nanos> cost);

}  // namespace divvy::simgpu
