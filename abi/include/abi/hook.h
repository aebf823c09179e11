// How bodies for entry points are written. Two macros, because only they can turn a name of the
// list into a symbol:
//
//   DIVVY_HOOK(cuMemAlloc_v2)(CUdeviceptr* dptr, size_t bytes) noexcept { ... }
//       the interposer's body; needs "interposer/cuda_hooks.h" (or nvml_hooks.h). Does not compile
//       unless the list says `wrap` for that name and the parameters are the list's.
//   SIMGPU_IMPL(cuMemAlloc_v2)(CUdeviceptr* dptr, size_t bytes) { ... }
//       the simulated driver's body; needs "simgpu/cuda_impls.h" (or nvml_impls.h).
//
// Both define C functions (hook_NAME, sim_NAME) that are not exported; generated assembly refers to
// them. A `wrap` line without a body does not link.
#pragma once

#include <cstdint>

#define DIVVY_HIDDEN __attribute__((visibility("hidden")))

namespace divvy::abi {

// A generated table of functions of this library, by id. The cells hold distances from the table,
// because addresses would have to be relocated in every process that loads the library.
class Places {
 public:
  constexpr explicit Places(const std::int32_t* cells) : cells_(cells) {}

  // nullptr where the table has nothing for the id.
  void* operator[](unsigned id) const {
    if (cells_[id] == 0) return nullptr;
    return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(cells_) + cells_[id]);
  }

 private:
  const std::int32_t* cells_;
};

template <class F>
struct ReturnOf;
template <class R, class... A>
struct ReturnOf<R(A...)> {
  using type = R;
};
template <class R, class... A>
struct ReturnOf<R(A...) noexcept> {
  using type = R;
};

}  // namespace divvy::abi

#define DIVVY_HOOK(name) \
  extern "C" typename divvy::abi::ReturnOf<decltype(hook_##name)>::type hook_##name
#define SIMGPU_IMPL(name) \
  extern "C" typename divvy::abi::ReturnOf<decltype(sim_##name)>::type sim_##name
