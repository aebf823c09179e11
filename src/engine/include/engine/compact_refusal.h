// Why not, of thousands of nodes at once: without what each of their devices has and lacks, so that
// of many nodes there are few different ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/refusal.h"

namespace divvy::engine {

struct CompactRefusal {
  NodeName node;
  NodeWhy why = NodeWhy::kCordoned;
  std::size_t container = 0;  // as of NodeRefusal
  std::uint64_t needed = 0;   // devices; 0 where it is not about so many of them
  DeviceKind kind = {};       // of kDevices: of which too few will do
  // Of kDevices: what most of those of the kind are refused for, of equals what is looked at last;
  // kKind: there is none of it.
  DeviceWhy most = DeviceWhy::kKind;
  friend bool operator==(const CompactRefusal&, const CompactRefusal&) = default;
};

// Why nodes will not do: of thousands of them few are different.
struct CompactRefusals {
  static constexpr std::uint32_t kNone = UINT32_MAX;    // it would do
  static constexpr std::uint32_t kUnknown = kNone - 1;  // there is no such node
  std::vector<CompactRefusal> different;                // their `node` is empty
  std::vector<std::uint32_t> of;                        // by the names asked about: places in it
};

// "too little device memory free (2 devices wanted by container train)". Without a container's name
// it is not said. Two briefs of one text differ in their nodes at most.
std::string text(const CompactRefusal& brief, const std::string& container);

}  // namespace divvy::engine
