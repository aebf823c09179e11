// Makes a context current for a scope.
#pragma once

#include "loader/driver_table.h"

namespace divvy::interposer {

class CurrentContext {
 public:
  explicit CurrentContext(CUcontext wanted) {
    CUcontext current = nullptr;
    if (real<abi::Cu::cuCtxGetCurrent>()(&current) != CUDA_SUCCESS) return;
    set_ = current == wanted;
    if (!set_) set_ = pushed_ = real<abi::Cu::cuCtxPushCurrent_v2>()(wanted) == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) real<abi::Cu::cuCtxPopCurrent_v2>()(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  // Returns whether the context is current now.
  bool set() const { return set_; }

 private:
  bool set_ = false;
  bool pushed_ = false;
};

}  // namespace divvy::interposer
