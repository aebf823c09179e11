// Placement annotations: how a pod wants to be placed. Pure. Private.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/request.h"
#include "kube/object.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// How to choose a node: a name of engine::Policy.
inline constexpr std::string_view kNodePolicy = "use.divvy.dev/node-policy";
// How to choose devices of the node: words of engine::parseDevicePolicy.
inline constexpr std::string_view kDevicePolicy = "use.divvy.dev/device-policy";
// Pool of the devices; "none": devices in no pool.
inline constexpr std::string_view kPool = "use.divvy.dev/pool";

// Expected use of the request by hour of the day in UTC: words of engine::parseDaily.
inline constexpr std::string_view kExpectedUse = "use.divvy.dev/expected-use";

// Reads kExpectedUse. None: the whole request, all day. kUsage: as of readPreferences().
Result<std::optional<engine::UsageByHour>> expectedUse(const kube::Labels& annotations);

// Returns `base` with a preference for linked devices, if the kind's rule or its annotation asks
// for that and `base` has none. kUsage: as of readPreferences().
Result<engine::DevicePolicy> withLinks(const kube::Labels& annotations, engine::DevicePolicy base,
                                       const vendors::LinkRule& rule);

// Converts a value of kPool.
engine::PoolName poolNamed(std::string_view value);

// Reads the annotations into `shape`: Divvy's, or else HAMi's (facts on the incumbent's control
// plane, 1.3). `base`: device policy for unstated parts. kUsage: the message names annotation,
// fault and accepted values.
Result<void> readPreferences(const kube::Labels& annotations, const engine::DevicePolicy& base,
                             engine::Shape* shape);

}  // namespace divvy::scheduler
