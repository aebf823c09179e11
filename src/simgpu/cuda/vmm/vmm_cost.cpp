#include "cuda/vmm/vmm_cost.h"

#include "card/card_clock.h"
#include "cuda/context/device.h"
#include "cuda/engine/engine_wait.h"

namespace divvy::simgpu {

void spendVmm(VmmCost cost) {
  const Device* device = findDevice(0);
  if (device == nullptr || device->profile->*cost == 0) return;
  waitUntil(clockNow() + device->profile->*cost);
}

}  // namespace divvy::simgpu
