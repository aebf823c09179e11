#include "meter/device_time.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kFlushAt = 50'000;  // device time

}  // namespace

void DeviceTime::read() {
  Tenant& tenant = runtime().tenant;
  const std::uint32_t permille =
      tenant.ready() ? tenant.control().header.grant.card_permille : 1000;
  permille_.store(permille == 0 ? 1000 : permille, std::memory_order_relaxed);
  flush_at_.store(onHost(kFlushAt), std::memory_order_relaxed);
}

}  // namespace divvy::interposer
