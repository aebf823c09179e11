// Overcommit of memory on a node, and the rules of swapping: the options, and the rules that they
// set for each device. Pure.
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

// One value for all devices, and values for named devices: by index, UUID or prefix of a UUID.
template <typename T>
struct PerDevice {
  std::optional<T> all;
  std::vector<std::pair<std::string, T>> some;
};

// Values of options or the environment; empty: not given.
struct Oversubscription {
  PerDevice<unsigned> overcommit;           // permille of `budget`: 1000 to 4000
  PerDevice<Bytes> budget;                  // memory that tenants may have at once
  std::optional<Bytes> host_reserve;        // host memory for swapped-out memory
  std::optional<Bytes> chunk;               // a power of two, 64 KiB to 256 MiB
  std::optional<std::uint64_t> quantum_ms;  // length of a turn; 0: computed from the cost of a swap
  std::optional<bool> checkpoint;  // unswappable memory is moved by the driver's checkpoint
  std::optional<bool> host_map;    // memory that never fits is used from the host
};

inline constexpr unsigned kNoOvercommit = 1000;
inline constexpr Bytes kSwapChunk = mib(32);

// Parses "1.3", "0=1.3", "GPU-5c2e=2", or several with commas, and adds them to `out`. kUsage: the
// text is not valid, or names a device or "all" twice.
Result<void> readOvercommit(std::string_view text, PerDevice<unsigned>& out);
// Does the same for "20Gi", "0=20Gi".
Result<void> readBudget(std::string_view text, PerDevice<Bytes>& out);
// "64Gi", or "0" for none.
Result<Bytes> parseHostReserve(std::string_view text);
Result<Bytes> parseSwapChunk(std::string_view text);
// "on", "off".
Result<bool> parseCheckpoint(std::string_view text);
Result<bool> parseHostMap(std::string_view text);
// Whether drivers of this version ("580.65.06") should map host memory in place of the card's:
// since CUDA 12.9. The tenants' processes find out whether theirs does.
bool mapsHostMemory(std::string_view driver);

// The rules of one device.
struct DeviceTerms {
  unsigned overcommit_permille = kNoOvercommit;
  Bytes budget;       // 0: all that is free of foreign use
  bool told = false;  // set by an option, not inherited from an earlier agent
};

struct DeviceName {
  unsigned index = 0;
  std::string uuid;
};

// The rules in the order of `devices`. kUsage: a name matches none of them, or several; the message
// lists them.
Result<std::vector<DeviceTerms>> termsFor(const Oversubscription& told,
                                          const std::vector<DeviceName>& devices);

}  // namespace divvy::agent
