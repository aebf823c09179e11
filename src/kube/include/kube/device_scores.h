// How well the devices of a node are linked, as an annotation. Source: facts on the incumbent's
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

// Scores by pair of different devices, the smaller UUID first. Pairs with score 0 are left out. If
// the scores of both directions differ, the lower one counts; a missing score is 0.
using DeviceScores = std::map<std::pair<std::string, std::string>, std::uint32_t>;

// Returns the annotation of these devices, in their order; each pair appears with both devices.
// Empty for fewer than two devices.
std::string encode(const DeviceScores& scores, const std::vector<std::string>& uuids);

// Decodes [{"uuid": "a", "score": {"b": 100}}, ..]. kCorrupt names member and expected form.
Result<DeviceScores> decodeScores(std::string_view text);

// Scores by number of devices taken: {"1": 123, "2": 321}. kCorrupt: the message names the member
// and its expected form.
using CountScores = std::map<std::uint32_t, std::uint32_t>;
Result<CountScores> decodeCountScores(std::string_view text);

}  // namespace divvy::kube
