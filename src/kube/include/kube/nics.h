// RDMA NICs of a node and their distances to its devices, as an annotation of Divvy that the node's
// agent writes. Links between devices are in HAMi's annotation (kube/device_scores.h).
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
  // Distances by UUID of a device of the node, from 0 (one board) to 5 (different sockets).
  std::map<std::string, std::uint32_t> distances;

  bool operator==(const Nic&) const = default;
};

// Returns the annotation; empty for no NICs.
std::string encode(const std::vector<Nic>& nics);

// Decodes [{"name": "mlx5_0", "distances": {"GPU-1": 1}}, ..]. Each name occurs once. kCorrupt: the
// message names the member and its expected form.
Result<std::vector<Nic>> decodeNics(std::string_view text);

}  // namespace divvy::kube
