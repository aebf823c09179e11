// Under which keys a kind's devices are written in annotations. Source: facts on the incumbent's
// control plane, 2.1 and 2.2. Private.
#pragma once

#include <array>
#include <string_view>

namespace divvy::scheduler {

struct Dialect {
  std::string_view kind;         // as its descriptor calls it
  std::string_view registered;   // of nodes: which devices there are
  std::string_view to_allocate;  // of pods: what its containers have not been handed yet
  std::string_view allocated;    // of pods: what they were given
};

inline constexpr std::array kDialects{
    Dialect{"NVIDIA", "hami.io/node-nvidia-register", "hami.io/vgpu-devices-to-allocate",
            "hami.io/vgpu-devices-allocated"},
};

inline constexpr std::string_view kAssignedNode = "hami.io/vgpu-node";
inline constexpr std::string_view kAssignedTime = "hami.io/vgpu-time";  // seconds since 1970
inline constexpr std::string_view kBindPhase = "hami.io/bind-phase";
inline constexpr std::string_view kBindTime = "hami.io/bind-time";

}  // namespace divvy::scheduler
