// How much more memory than its devices have a node promises, and by what terms it is swapped: what
// an agent is told, and what follows from it for each device. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::agent {

// One value for all devices, and others for those that are named: by index, UUID or the beginning
// of one.
template <typename T>
struct PerDevice {
  std::optional<T> all;
  std::vector<std::pair<std::string, T>> some;
};

// As told by options or the environment; what is empty was not told.
struct Oversubscription {
  PerDevice<unsigned> overcommit;     // permille of what tenants may have at once: 1000 to 4000
  PerDevice<Bytes> budget;            // what tenants may have at once
  std::optional<Bytes> host_reserve;  // of host memory, for what is swapped out
  std::optional<Bytes> chunk;         // a power of two, 64 KiB to 256 MiB
  std::optional<std::uint64_t> quantum_ms;  // of a turn; 0: as follows from what a swap costs
  std::optional<bool> checkpoint;           // what cannot be swapped is taken off by the driver
  std::optional<bool> host_map;             // what can never fit is used where it is, with the host
};

inline constexpr unsigned kNoOvercommit = 1000;
inline constexpr Bytes kSwapChunk = mib(32);

// "1.3", "0=1.3", "GPU-5c2e=2", several with commas between them, added to what is there. kUsage
// says what is accepted, and of a device or "all" that is named twice.
Result<void> readOvercommit(std::string_view text, PerDevice<unsigned>& out);
// Likewise "20Gi", "0=20Gi".
Result<void> readBudget(std::string_view text, PerDevice<Bytes>& out);
// "64Gi", or "0" for none.
Result<Bytes> parseHostReserve(std::string_view text);
Result<Bytes> parseSwapChunk(std::string_view text);
// "on", "off".
Result<bool> parseCheckpoint(std::string_view text);
Result<bool> parseHostMap(std::string_view text);
// Whether drivers of this version ("580.65.06") are said to map memory of the host in place of the
// card's: since CUDA 12.9. What they do the processes find out.
bool mapsHostMemory(std::string_view driver);

// What holds for one device.
struct DeviceTerms {
  unsigned overcommit_permille = kNoOvercommit;
  Bytes budget;       // 0: all that others leave
  bool told = false;  // somebody said so: not what an agent before us was told
};

struct DeviceName {
  unsigned index = 0;
  std::string uuid;
};

// In the order of `devices`. kUsage: a name that fits none of them, or several; says which there
// are.
Result<std::vector<DeviceTerms>> termsFor(const Oversubscription& told,
                                          const std::vector<DeviceName>& devices);

}  // namespace divvy::agent
