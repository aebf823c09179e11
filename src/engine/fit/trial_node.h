// A node on which shares of one shape are placed for trial. Private to plan.cpp and
// core_replicas.cpp.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "fit/plan.h"

namespace divvy::engine {

class TrialNode {
 public:
  // State that only asks for partitions read.
  struct PartitionState {
    const Partitioning* parting = nullptr;
    PartRoom room;
    std::uint8_t verdict = kOpen;
    bool operator==(const PartitionState& other) const;
  };
  // State that placements change.
  struct FreeCapacity {
    std::array<DeviceRoom, kMaxDevicesPerNode> rooms{};
    std::vector<MemoryAccounts> accounts;  // by device, if memory has terms
    std::vector<PartitionState> parts;     // empty: no ask is for partitions
    Bytes host_left;
    std::array<PeakUse, kMaxDevicesPerNode> peak_use{};
  };

  TrialNode(const HotState& state, const ShapeClass& shape, Slot slot);
  TrialNode(const TrialNode&) = delete;
  TrialNode& operator=(const TrialNode&) = delete;

  std::size_t devices() const { return devices_; }
  std::uint8_t verdict(std::size_t device) const { return verdicts_[device]; }
  std::span<const std::uint8_t> verdicts() const { return {verdicts_.data(), devices_}; }
  std::span<const DeviceRoom> rooms() const { return {now.rooms.data(), devices_}; }

  // Restores a saved copy of `now`. The accounts keep their addresses, because rooms point to them.
  void back(const FreeCapacity& then);
  // Returns all devices, in the order of the shape's policy as they are now.
  Candidates sorted(const DeviceDemand& demand) const;
  bool fits(const DeviceDemand& demand, std::size_t device) const {
    return verdicts_[device] == kOpen &&
           verdictOn(now.rooms[device], demand, now.host_left) == kOpen;
  }
  // Returns true if the devices are interchangeable for every ask, also for init containers.
  // Sidecars before them are placed first and in order. Must not be used where devices are taken as
  // groups.
  bool alike(std::size_t a, std::size_t b) const;
  void charge(const DeviceDemand& demand, std::size_t device);
  void chargePartition(std::size_t device, const DevicePart& part, std::uint32_t start);
  // Returns the host memory for what is promised beyond the device's memory.
  Bytes added(const DeviceDemand& demand, std::size_t device) const;
  Bytes added(const DeviceDemand& demand, const ChosenDevices& selected) const;
  // Returns the first devices of `order` that fit, at most as many as the ask needs.
  ChosenDevices firstOf(const Candidates& order, const DeviceDemand& demand) const;
  // Returns an image of all state that a search without groups reads. Empty: an image does not
  // cover what the search reads.
  std::string image() const;

  FreeCapacity now;

 private:
  const HotState& state_;
  const ShapeClass& shape_;
  const Slot slot_;
  const std::size_t devices_;
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
};

}  // namespace divvy::engine
