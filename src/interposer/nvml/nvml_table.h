// The real NVML, as the hooks call it.
#pragma once

#include "interposer/nvml_hooks.h"
#include "nvml/tenant.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

using abi::Nv;

// Calls the driver's function; an entry that the driver lacks answers
// NVML_ERROR_FUNCTION_NOT_FOUND, any entry without a driver NVML_ERROR_LIBRARY_NOT_FOUND or
// NVML_ERROR_UNINITIALIZED. Public entry points that the driver calls from inside pass untouched.
template <Nv kId, typename... Args>
inline auto driver(Args... args) {
  const DriverCallScope inside;
  return abi::real<kId>()(args...);
}

// The return address of the hook in which this stands.
[[gnu::always_inline]] inline const void* caller() {
  return __builtin_return_address(0);
}

// The tenant through whose eyes a call is to be seen; nullptr: pass it on as it is, because there
// is no tenant, or because the driver itself calls one of its public entry points (a driver that is
// not linked symbolically comes back to us) and wants to see the node.
NvmlTenant* viewerFor(const void* caller);

}  // namespace divvy::interposer
