// How long things take on a card, from its profile. A model, not a measurement: enough that copies
// cost their bytes and kernels their arithmetic or their memory traffic, whichever is more.
#pragma once

#include "card/profile.h"
#include "timeline/timeline_state.h"

namespace divvy::simgpu {

// How a card slices its engines.
EngineConfig engineConfig(const Profile& profile);

class CostModel {
 public:
  explicit CostModel(const Profile& profile) : profile_(profile) {}

  // Host <-> device over the host link, one direction.
  Nanos hostCopy(std::uint64_t bytes) const;
  // A kernel's own reads and writes of host memory.
  Nanos hostAccess(std::uint64_t bytes) const;
  // Within the card: every byte is read and written.
  Nanos deviceCopy(std::uint64_t bytes) const;
  // To another card.
  Nanos peerCopy(std::uint64_t bytes) const;
  Nanos memset(std::uint64_t bytes) const;
  // The longer of the two, and never less than the shortest kernel.
  Nanos kernel(double flops, std::uint64_t bytes) const;

  const Profile& profile() const { return profile_; }

 private:
  const Profile& profile_;
};

}  // namespace divvy::simgpu
