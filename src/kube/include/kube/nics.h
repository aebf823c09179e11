// RDMA NICs of a node, and how near each is to its devices: an annotation of ours, which the
// node's agent writes. Where cards are among themselves has HAMi's annotation (device_scores).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

inline constexpr const char* kNicsKey = "divvy.dev/nics";  // node

struct Nic {
  std::string name;  // of the RDMA device: "mlx5_0"
  // By the UUID of a device of the node: 0 (one board) to 5 (sockets apart), less is nearer.
  std::map<std::string, std::uint32_t> distances;

  bool operator==(const Nic&) const = default;
};

// As decodeNics reads it. Empty: there are none.
std::string encode(const std::vector<Nic>& nics);

// [{"name": "mlx5_0", "distances": {"GPU-1": 1}}, ..], each name once. kCorrupt: which member,
// what was expected.
Result<std::vector<Nic>> decodeNics(std::string_view text);

}  // namespace divvy::kube
