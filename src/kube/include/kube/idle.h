// Pods that do not use what they were given of devices: the agent says on its node which, the
// scheduler writes into the pod when it will be evicted for that. Annotations, each a JSON object.
// Pure. Seconds are since 1970.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::kube {

inline constexpr const char* kIdleKey = "divvy.dev/idle";  // node: who is, and since when
inline constexpr const char* kIdleStateKey = "divvy.dev/idle-state";  // pod: what follows from it

// A pod with all of its containers idle for longer than they may be.
struct IdlePod {
  std::string space, name;
  std::int64_t since = 0;
  // The deadline that its state had, said when that was over and it was still idle; 0: not yet.
  // What an agent says that has gone stays on its node.
  std::int64_t confirmed = 0;
  friend bool operator==(const IdlePod&, const IdlePod&) = default;
};
using IdlePods = std::map<std::string, IdlePod>;    // by UID
inline constexpr std::size_t kMostIdlePods = 1024;  // of one node

// Of a pod that was told.
struct IdleState {
  std::int64_t since = 0;    // idle, as its node said
  std::int64_t noticed = 0;  // it was told
  std::int64_t deadline = 0;
  bool told = false;  // the pod, and its platform
  friend bool operator==(const IdleState&, const IdleState&) = default;
};

std::string encode(const IdlePods& pods);
std::string encode(const IdleState& state);

// kCorrupt: which member, what is accepted. Names and UIDs are such as API servers have: they
// become parts of paths.
Result<IdlePods> decodeIdlePods(std::string_view text);
Result<IdleState> decodeIdleState(std::string_view text);

}  // namespace divvy::kube
