// What a pod's annotations say of how it is to be placed. Pure. Private.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/request.h"
#include "kube/object.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// Which node of several: a name of engine::Policy.
inline constexpr std::string_view kNodePolicy = "use.divvy.dev/node-policy";
// Which of its devices: words as engine::parseDevicePolicy takes them.
inline constexpr std::string_view kDevicePolicy = "use.divvy.dev/device-policy";
// Whose devices; "none": of those that are in no pool.
inline constexpr std::string_view kPool = "use.divvy.dev/pool";

// Of what it asks, how much at which hours of UTC: words as engine::parseDaily takes them.
inline constexpr std::string_view kExpectedUse = "use.divvy.dev/expected-use";

// None: all of it, all day. kUsage as below.
Result<std::optional<engine::UsageByHour>> expectedUse(const kube::Labels& annotations);

// Which devices, where a pod does not say, of several of a kind with such links. kUsage as below.
Result<engine::DevicePolicy> withLinks(const kube::Labels& annotations, engine::DevicePolicy base,
                                       const vendors::LinkRule& rule);

// As kPool's value says it.
engine::PoolName poolNamed(std::string_view value);

// Sets what the annotations say, in our words or in those of HAMi (facts on the incumbent's control
// plane, 1.3); where both do, ours count. `base`: which devices where they do not say, or only a
// part of it. kUsage: which annotation, what is wrong, what is accepted.
Result<void> readPreferences(const kube::Labels& annotations, const engine::DevicePolicy& base,
                             engine::Shape* shape);

}  // namespace divvy::scheduler
