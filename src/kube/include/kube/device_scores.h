// How well devices of a node are linked, as an annotation says it. Source: facts on the incumbent's
// control plane, 2.1.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace divvy::kube {

// By two different devices, the one that sorts first before; pairs of 0 are left out. Where one
// tells of a pair and the other of another score, or of none, the lower one counts.
using DeviceScores = std::map<std::pair<std::string, std::string>, std::uint32_t>;

// As decodeScores reads it, of these devices and in their order, each pair told by both. Empty:
// there are fewer than two of them.
std::string encode(const DeviceScores& scores, const std::vector<std::string>& uuids);

// [{"uuid": "a", "score": {"b": 100}}, ..]. kCorrupt: which member, what was expected.
Result<DeviceScores> decodeScores(std::string_view text);

// By how many devices are taken: {"1": 123, "2": 321}. kCorrupt: which member, what was expected.
using CountScores = std::map<std::uint32_t, std::uint32_t>;
Result<CountScores> decodeCountScores(std::string_view text);

}  // namespace divvy::kube
