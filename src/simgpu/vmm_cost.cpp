#include "vmm_cost.h"

#include "card_clock.h"
#include "device.h"
#include "engine_wait.h"

namespace divvy::simgpu {

void spendVmm(VmmCost cost) {
  const Device* device = findDevice(0);
  if (device == nullptr || device->profile->*cost == 0) return;
  waitUntil(clockNow() + device->profile->*cost);
}

}  // namespace divvy::simgpu
