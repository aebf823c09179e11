// The NVML functions the daemons use, as function pointers. Private.
#pragma once

#include <cstdint>

namespace divvy::driver {

using Return = int;  // nvmlReturn_t
constexpr Return kSuccess = 0;
constexpr Return kInsufficientSize = 7;
using Device = struct OpaqueDevice*;

struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct ProcessInfo {  // of the _v2 and _v3 process lists
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct ProcessSample {
  unsigned pid;
  unsigned long long time_stamp;
  unsigned sm, memory, encoder, decoder;
};
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char id[32];
};
constexpr unsigned kMemoryV2 = static_cast<unsigned>(sizeof(MemoryV2)) | 2u << 24;
constexpr unsigned long long kNotAvailable = ~0ull;

}  // namespace divvy::driver
