// Kernels that are part of the simulated driver, written in C++.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "kernel_image.h"

namespace divvy::simgpu {

// One built-in: parameters are naturally aligned, in order, of these sizes.
struct Builtin {
  std::string_view name;
  std::string_view usage;  // parameters with their types, for people
  std::array<std::uint8_t, 8> sizes;
  Nanos (*cost)(const KernelCall&, const CostModel&);
  CUresult (*run)(const KernelCall&, Context&);
  Polled (*poll)(const KernelCall&, Context&);  // nullptr: it does not wait
};

std::span<const Builtin> builtins();
const Builtin* findBuiltin(std::string_view name);

// The kernel under the name that the image gives it, with an explicit duration if it asks for one.
std::unique_ptr<KernelCode> makeBuiltin(const Builtin& builtin, std::string_view name,
                                        std::optional<Nanos> cost);

}  // namespace divvy::simgpu
