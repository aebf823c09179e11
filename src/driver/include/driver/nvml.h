// A typed NVML, opened at run time. Source: NVML API reference (names, numbers and structure
// layouts only).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::driver {

// Fixed facts of a device: a card, or one instance of a partitioned card (MIG). A partitioned card
// itself is no device.
struct DeviceInfo {
  unsigned index = 0;  // NVML's own, in PCI order; instances have indexes after those of all cards
  std::string uuid;
  std::string model;
  std::string pci;
  Bytes physical;  // usable by programs: the total without the driver's own part
  // "CARD:PLACE" of an instance, the name in NVIDIA's tools. Empty: a card.
  std::string part = {};

  // A process can use at most one instance, and no device with it.
  bool instance() const { return !part.empty(); }
};

struct ProcessUse {
  int pid = 0;
  Bytes bytes;            // zero: the driver does not report it
  bool graphics = false;  // it only draws: CUDA's limits do not count that
  friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

// The present use of a device.
struct DeviceUse {
  Bytes used;            // by all processes, without the driver's own part
  int utilisation = -1;  // percent of the last sample period; -1: not reported
};

// The part of the device's time that a process had in the driver's recent samples.
struct ProcessTime {
  int pid = 0;
  unsigned percent = 0;
  std::uint64_t time_us = 0;  // instant of the sample, since 1970
};

// A fault of a device.
struct DeviceFault {
  unsigned index = 0;
  std::uint64_t xid = 0;  // 48 also for uncorrected memory errors
  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

// The driver's counts of memory errors of a device. Nothing: not reported.
struct MemoryErrors {
  std::optional<std::uint64_t> uncorrected = {};  // since the driver was loaded
  std::optional<bool> pending = {};               // a reset of the card replaces some of the memory
  std::optional<bool> failed = {};                // some could not be replaced
  friend bool operator==(const MemoryErrors&, const MemoryErrors&) = default;
};

class ProcessSource;

// One initialised NVML. Calls block as long as the driver does. Not thread-safe.
class Nvml {
 public:
  // `path`: absolute, or a bare soname that the loader searches for. kUnavailable: the message
  // states the cause.
  static Result<Nvml> open(const std::string& path);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  const std::string& path() const;
  // Uses `source` for processes from now on (driver/process_source.h).
  void setProcessSource(std::shared_ptr<ProcessSource> source);
  // Returns "" if the driver does not report it.
  std::string driverVersion() const;
  Result<std::vector<DeviceInfo>> devices() const;
  Result<DeviceUse> use(unsigned index) const;
  // Returns processes with a context there, each once. Empty if the device does not report them.
  std::vector<ProcessUse> processes(unsigned index) const;
  // Empty if nothing ran lately or the device does not report it.
  std::vector<ProcessTime> processTimes(unsigned index) const;

  // Returns true if the driver has the device and it answers.
  bool answers(unsigned index) const;
  // Returns the faults since the last call; the first call begins to observe. Does not block. Empty
  // if the driver has no such events.
  std::vector<DeviceFault> faults() const;
  // Counts since the driver was loaded, whether observed or not. For an instance, the card's counts
  // if the driver has none for it. Values that a device does not support are not queried again.
  MemoryErrors memoryErrors(unsigned index) const;

  // For this module only: the driver's entry points.
  struct Api;
  const Api& api() const { return *api_; }

 private:
  explicit Nvml(std::unique_ptr<Api> api);
  std::unique_ptr<Api> api_;
};

}  // namespace divvy::driver
