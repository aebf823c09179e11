// A node while containers of one request are put on it for trial. Private to plan.cpp.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "fit/plan.h"

namespace divvy::engine {

class TrialNode {
 public:
  // What only asks for parts look at.
  struct Parts {
    const Partitioning* parting = nullptr;
    PartRoom room;
    std::uint8_t verdict = kOpen;
    bool operator==(const Parts& other) const;
  };
  // What changes while it tries.
  struct State {
    std::array<DeviceRoom, kMaxDevicesPerNode> rooms{};
    std::vector<MemoryAccounts> books;  // by device, where there are terms
    std::vector<Parts> parts;           // empty: no ask is for parts
    Bytes host_left;
    std::array<Taken, kMaxDevicesPerNode> taken{};
  };

  TrialNode(const HotState& state, const ShapeClass& shape, Slot slot);
  TrialNode(const TrialNode&) = delete;
  TrialNode& operator=(const TrialNode&) = delete;

  std::size_t devices() const { return devices_; }
  std::uint8_t verdict(std::size_t device) const { return verdicts_[device]; }
  std::span<const std::uint8_t> verdicts() const { return {verdicts_.data(), devices_}; }
  std::span<const DeviceRoom> rooms() const { return {now.rooms.data(), devices_}; }

  // Books stay where they are, since rooms point to them: what was saved of `now` comes back so.
  void back(const State& then);
  // All devices, in the order of the shape's policy as they are now.
  Candidates sorted(const Ask& ask) const;
  bool fits(const Ask& ask, std::size_t device) const {
    return verdicts_[device] == kOpen && verdictOn(now.rooms[device], ask, now.host_left) == kOpen;
  }
  // What one is good for, the other is too; for init containers as well, since those that are there
  // before them are placed first and in their order. Not where devices are taken as groups.
  bool alike(std::size_t a, std::size_t b) const;
  void take(const Ask& ask, std::size_t device);
  void takePart(std::size_t device, const DevicePart& part, std::uint32_t start);
  // Of the host's memory, for what is promised beyond the device's.
  Bytes added(const Ask& ask, std::size_t device) const;
  Bytes added(const Ask& ask, const Picked& picked) const;
  // The first of `order` that fit, as many as are asked for or less.
  Picked firstOf(const Candidates& order, const Ask& ask) const;
  // Of all that a search without groups reads; empty: it reads more than an image tells.
  std::string image() const;

  State now;

 private:
  const HotState& state_;
  const ShapeClass& shape_;
  const Slot slot_;
  const std::size_t devices_;
  std::array<std::uint8_t, kMaxDevicesPerNode> verdicts_{};
};

}  // namespace divvy::engine
