#include "cuda/capture_scope.h"

#include "runtime.h"

namespace divvy::interposer {

bool needsRelaxedCapture() {
  return runtime().captures_begun.load(std::memory_order_relaxed) || runtime().gate.metering();
}

}  // namespace divvy::interposer
