#include "ledger/identification.h"

#include <string.h>

#include "ledger/layout_hash.h"
#include "process/proc_self.h"

namespace divvy::ledger {

OpenStatus checkIdentification(const Identification& id, std::uint64_t magic,
                               std::uint64_t page_size, std::uint64_t file_size) {
  if (file_size < sizeof(Identification)) return OpenStatus::kTruncated;
  if (id.magic != magic) return OpenStatus::kBadMagic;
  if (id.major > kMajor || (id.major == kMajor && id.minor > kMinor)) return OpenStatus::kNewer;
  if (id.major < kMajor || id.minor < kOldestMinor) return OpenStatus::kOlder;
  if (id.layout_hash != kLayoutHash || id.size != page_size) return OpenStatus::kOtherLayout;
  if (file_size < page_size) return OpenStatus::kTruncated;
  return OpenStatus::kOk;
}

OpenStatus checkBoot(const Identification& id) {
  char boot[sizeof id.boot_id];
  if (!readBootId(boot)) return OpenStatus::kOk;
  return memcmp(boot, id.boot_id, sizeof boot) == 0 ? OpenStatus::kOk : OpenStatus::kStaleBoot;
}

OpenStatus checkControl(const ControlPage& page) {
  const ControlHeader& header = page.header;
  if (header.device_count == 0 || header.device_count > kMaxDevices) return OpenStatus::kBadValues;
  if (header.slots_capacity == 0 || header.slots_capacity > kMaxSlots) {
    return OpenStatus::kBadValues;
  }
  if (loadAcquire(header.slots_ready) > header.slots_capacity) return OpenStatus::kBadValues;
  const char* const texts[] = {header.tenant_id, header.name, header.driver_path, header.nvml_path,
                               header.agent_socket};
  const std::size_t sizes[] = {sizeof header.tenant_id, sizeof header.name,
                               sizeof header.driver_path, sizeof header.nvml_path,
                               sizeof header.agent_socket};
  for (std::size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (memchr(texts[i], 0, sizes[i]) == nullptr) return OpenStatus::kBadValues;
  }
  for (unsigned i = 0; i < header.device_count; ++i) {
    const DeviceControl& device = page.devices[i];
    if (memchr(device.uuid, 0, sizeof device.uuid) == nullptr) return OpenStatus::kBadValues;
    if (loadAcquire(device.mem_ceiling) > INT64_MAX) return OpenStatus::kBadValues;
    if (device.context_bytes > INT64_MAX) return OpenStatus::kBadValues;
  }
  return OpenStatus::kOk;
}

}  // namespace divvy::ledger
