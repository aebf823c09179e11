// What the driver says of its cards: a typed NVML opened at run time. Source: NVML API reference
// (names, numbers and structure layouts only).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::driver {

// Fixed facts of one card, or of one instance of a card that is partitioned (MIG): of such a card
// only its instances are devices.
struct DeviceInfo {
  unsigned index = 0;  // NVML's own, which is PCI order; of instances from the number of cards on
  std::string uuid;
  std::string model;
  std::string pci;
  Bytes physical;  // what programs can use: the total without what the driver keeps for itself
  // Of an instance: "CARD:PLACE", which is how NVIDIA's own tools call it. Empty: a card.
  std::string part = {};

  // A process has one instance, and no device beside it.
  bool instance() const { return !part.empty(); }
};

struct ProcessUse {
  int pid = 0;
  Bytes bytes;            // zero where the driver does not tell
  bool graphics = false;  // it only draws: no limit of CUDA's counts that
  friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

// What is going on on one card now.
struct DeviceUse {
  Bytes used;            // by anyone, without what the driver keeps for itself
  int utilisation = -1;  // percent of the last sample period; -1 = not told
};

// Share of the device's time one process had in the driver's recent samples.
struct ProcessTime {
  int pid = 0;
  unsigned percent = 0;
  std::uint64_t time_us = 0;  // when the sample was taken, since 1970
};

// Something that happened to a device.
struct DeviceFault {
  unsigned index = 0;
  std::uint64_t xid = 0;  // 48 for memory errors that could not be corrected, too
  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

// What the driver itself remembers of errors of a device's memory. Nothing: it does not tell.
struct MemoryErrors {
  std::optional<std::uint64_t> uncorrected = {};  // since the driver was loaded
  std::optional<bool> pending = {};  // some of the memory is replaced when the card is reset
  std::optional<bool> failed = {};   // some could not be replaced
  friend bool operator==(const MemoryErrors&, const MemoryErrors&) = default;
};

class ProcessSource;

// One initialised NVML. Calls block as long as the driver does; one thread at a time.
class Nvml {
 public:
  // `path`: absolute, or a bare soname for the loader's search. kUnavailable says what is missing.
  static Result<Nvml> open(const std::string& path);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  const std::string& path() const;
  // From now on which processes use a device is asked of this (driver/process_source.h).
  void askForProcesses(std::shared_ptr<ProcessSource> source);
  // "" where the driver does not tell.
  std::string driverVersion() const;
  Result<std::vector<DeviceInfo>> devices() const;
  Result<DeviceUse> use(unsigned index) const;
  // Those with a context there, each once; empty where the card cannot tell.
  std::vector<ProcessUse> processes(unsigned index) const;
  // Empty where nothing ran lately or the card cannot tell.
  std::vector<ProcessTime> processTimes(unsigned index) const;

  // Whether the driver still has the device, and it answers.
  bool answers(unsigned index) const;
  // What happened since this was asked last, or (the first time) from now on. Does not wait. Empty
  // where the driver has no such events.
  std::vector<DeviceFault> faults() const;
  // Whoever listened when they happened. Of an instance, what its card has where the driver does
  // not tell it of that instance. What a device cannot tell is not asked again.
  MemoryErrors memoryErrors(unsigned index) const;

  // For this folder's own: the driver's entry points.
  struct Api;
  const Api& api() const { return *api_; }

 private:
  explicit Nvml(std::unique_ptr<Api> api);
  std::unique_ptr<Api> api_;
};

}  // namespace divvy::driver
