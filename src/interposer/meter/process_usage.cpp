#include "meter/process_usage.h"

namespace divvy::interposer {

std::uint64_t ProcessUsage::mostUnsettled() const {
  std::uint64_t most = 0;
  for (std::uint32_t bits = usedDevices(); bits != 0; bits &= bits - 1) {
    const std::uint64_t here = devices_[__builtin_ctz(bits)].unsettled();
    if (here > most) most = here;
  }
  return most;
}

std::uint64_t ProcessUsage::inflightUntil() const {
  std::uint64_t last = 0;
  for (std::uint32_t bits = usedDevices(); bits != 0; bits &= bits - 1) {
    const std::uint64_t until = devices_[__builtin_ctz(bits)].until();
    if (until > last) last = until;
  }
  return last;
}

void ProcessUsage::beginSettle() {
  for (DeviceUsage& device : devices_) device.clearOverdue();
}

void ProcessUsage::endSettle(std::uint64_t now, Settled* out) {
  for (std::uint32_t bits = usedDevices(); bits != 0; bits &= bits - 1) {
    DeviceUsage& device = devices_[__builtin_ctz(bits)];
    const DeviceUsage::Loose loose = device.endLoose(now, &out->look_at);
    if (loose.ended) {
      noteUnmetered(loose.launches);
      device.settle(loose.sum);
      noteSettled(out);
    }
    device.correct(now);
  }
}

void ProcessUsage::forgetAfterFork() {
  for (DeviceUsage& device : devices_) device.forgetAfterFork();
  used_.store(0, std::memory_order_relaxed);
  unmetered_.store(0, std::memory_order_relaxed);
  settles_.store(0, std::memory_order_relaxed);
  longest_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
