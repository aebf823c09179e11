// The real NVML, as the hooks call it.
#pragma once

#include "interposer/nvml_hooks.h"
#include "nvml/tenant.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

using abi::Nv;

// Calls the driver's function. Returns NVML_ERROR_FUNCTION_NOT_FOUND for an entry that the driver
// lacks. Without a driver, returns NVML_ERROR_LIBRARY_NOT_FOUND or NVML_ERROR_UNINITIALIZED. Public
// entry points that the driver calls from inside pass untouched.
template <Nv kId, typename... Args>
inline auto driver(Args... args) {
  const DriverCallScope inside;
  return abi::real<kId>()(args...);
}

// Returns the return address of the hook that contains the call.
[[gnu::always_inline]] inline const void* caller() {
  return __builtin_return_address(0);
}

// Returns the tenant that the call gets the view of; nullptr if the call is to be passed on
// unchanged. That is so without a tenant, and if the driver calls its own public entry point, for
// which it needs the node's view. Such a call reaches the hook if the driver is not linked
// symbolically.
NvmlTenant* viewerFor(const void* caller);

}  // namespace divvy::interposer
