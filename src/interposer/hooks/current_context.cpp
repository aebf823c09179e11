// The current context determines the meaning of a default stream, so the meter must get its
// changes.
#include "cuda/thread_streams.h"
#include "loader/driver_table.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

DIVVY_HOOK(cuCtxSetCurrent)(CUcontext ctx) noexcept {
  noteContextChange();
  return real<Cu::cuCtxSetCurrent>()(ctx);
}

DIVVY_HOOK(cuCtxPushCurrent)(CUcontext ctx) noexcept {
  noteContextChange();
  return real<Cu::cuCtxPushCurrent>()(ctx);
}

DIVVY_HOOK(cuCtxPushCurrent_v2)(CUcontext ctx) noexcept {
  noteContextChange();
  return real<Cu::cuCtxPushCurrent_v2>()(ctx);
}

DIVVY_HOOK(cuCtxPopCurrent)(CUcontext* pctx) noexcept {
  noteContextChange();
  return real<Cu::cuCtxPopCurrent>()(pctx);
}

DIVVY_HOOK(cuCtxPopCurrent_v2)(CUcontext* pctx) noexcept {
  noteContextChange();
  return real<Cu::cuCtxPopCurrent_v2>()(pctx);
}
